"""Pages of help that the build makes: word for word what click says, or not used."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from trnbench.cli import commands as installed
from trnbench.cli import help_page
from trnbench.cli.help_page import page
from trnbench.cli.help_text import commands, printed
from trnbench.cli.main import cli
from trnbench.distribution import EntryPoint


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The text as an editable installation has it."""
    path = tmp_path_factory.mktemp("pages") / "help.txt"
    subprocess.run([sys.executable, "-m", "trnbench.cli.help_text", path, "--editable"], check=True)
    return path


@pytest.fixture(autouse=True)
def pages(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy = tmp_path / "help.txt"
    copy.write_bytes(made.read_bytes())
    monkeypatch.setattr(help_page, "FILE", str(copy))
    monkeypatch.setenv("COLUMNS", "80")
    return copy


@pytest.mark.parts
@pytest.mark.parametrize("columns", [80, 250])
def test_every_page_is_what_click_says(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    known = list(commands(cli))
    width = min(columns, 100) - 2
    assert len(known) > 60
    assert printed(width, "run", "--help").startswith("Usage: trnbench run [")
    for words in known:
        for flag in ("-h", "--help"):
            assert page([*words, flag]) == printed(width, *words, flag), words
        assert page([*words, "--help-all"]) == (printed(width, *words, "--help-all") or None), words


@pytest.mark.parametrize(
    ("typed", "terminal", "columns"),
    [
        ("", 90, 88),
        ("", 0, 78),
        ("x", 90, 88),
        ("0", 90, 88),
        ("-3", 90, 88),
        ("1", 90, 50),
        ("52", 90, 50),
        ("53", 90, 51),
        ("100", 90, 98),
        ("101", 90, 98),
        ("", None, 78),
    ],
)
def test_a_page_is_as_wide_as_the_terminal_within_bounds(
    typed: str, terminal: int | None, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def size(_: int) -> os.terminal_size:
        if terminal is None:
            raise OSError
        return os.terminal_size((terminal, 24))

    monkeypatch.setenv("COLUMNS", typed)
    monkeypatch.setattr(os, "get_terminal_size", size)
    monkeypatch.setattr(sys, "__stdout__", SimpleNamespace(fileno=lambda: 1))
    assert help_page.width() == columns


def test_what_is_not_known_is_left_to_click(monkeypatch: pytest.MonkeyPatch, pages: Path) -> None:
    for words in (
        [],
        ["run"],
        ["run", "gemm", "--help"],
        ["--no-plugin", "a", "--help"],
        ["frob", "-h"],
        ["-q", "-h"],
    ):
        assert page(words) is None
    monkeypatch.setenv("COLUMNS", "90")
    assert page(["run", "--help"]) is None
    monkeypatch.setenv("COLUMNS", "80")
    assert page(["run", "--help"]) is not None
    pages.write_text("")
    assert page(["run", "--help"]) is None
    pages.unlink()
    assert page(["run", "--help"]) is None


def test_a_source_that_changes_makes_the_text_void(pages: Path) -> None:
    own, sources, rest = pages.read_text(encoding="utf-8").split("\n", 2)
    assert page(["run", "--help"]) is not None
    size, _, place = sources.partition(":")
    pages.write_text("\n".join([own, f"{int(size) + 1}:{place}", rest]), encoding="utf-8")
    assert page(["run", "--help"]) is None


def test_commands_of_others_are_listed_as_click_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "acme-1.dist-info"
    info.mkdir()
    (info / "entry_points.txt").write_text("[trnbench.commands]\nfrob = acme.x:frob\n")
    names = ("frob", "a-name-that-is-longer-than-the-column-has-room")
    others = [
        EntryPoint("trnbench.commands", name, "acme.x:frob", "acme of a long name" * 4, "1") for name in names
    ]
    entry_points = installed.entry_points
    monkeypatch.setattr(installed, "entry_points", lambda groups: [*entry_points(groups), *others])
    monkeypatch.syspath_prepend(tmp_path)
    shown = page(["--help"])
    assert shown == printed(78, "--help")
    found = installed.find_commands()
    clicks = click.HelpFormatter(width=78)
    with clicks.section(installed.OTHERS):
        clicks.write_dl([(name, each.help) for name, each in found.items() if each.external])
    assert installed.section_of_others(found, 78) == "\n" + clicks.getvalue()
    assert clicks.getvalue() in shown
    assert all(f"\n  {name}" in shown for name in names)
    assert page(["run", "--help"]) == printed(78, "run", "--help")


def test_a_page_is_printed_before_click_is_imported(pages: Path) -> None:
    code = (
        f"import sys\nimport trnbench.cli.help_page as p\np.FILE = {str(pages)!r}\n"
        "sys.argv[1:] = ['run', '--help']\n"
        "import os; end = os._exit\n"
        "def told(code): print(*sorted(sys.modules), file=sys.stderr); end(code)\n"
        "os._exit = told; from trnbench.program import main; main()"
    )
    bare = subprocess.run(
        [sys.executable, "-c", "import sys, __future__; print(*sys.modules)"], capture_output=True, text=True
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: trnbench run ")
    assert set(done.stderr.split()) - set(bare.stdout.split()) == {
        "trnbench", "trnbench.cli", "trnbench.cli.help_page", "trnbench.program", "trnbench.version"
    }  # fmt: skip


@pytest.mark.parametrize("words", [("--help",), ("--version",)])
def test_what_cannot_be_printed_is_said(words: tuple[str, ...], pages: Path) -> None:
    code = f"import sys, trnbench.cli.help_page as p; p.FILE = {str(pages)!r}; sys.argv[1:] = {list(words)}\n"
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", f"{code}from trnbench.program import main; main()"],
            stdout=full, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert (done.returncode, "No space left" in done.stderr) == (2, True), done.stderr


@pytest.mark.parts
def test_the_wheel_has_the_pages_and_nothing_of_this_tree(root: Path, tmp_path: Path, made: Path) -> None:
    pytest.importorskip("hatchling", reason="building the wheel needs hatchling")
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "dist"],
        cwd=root, env=environment, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = (tmp_path / "dist").iterdir()
    text = zipfile.ZipFile(wheel).read("trnbench/cli/help.txt").decode()
    own, sources, rest = text.split("\n", 2)
    assert sources == ""
    assert [own, rest] == made.read_text(encoding="utf-8").split("\n", 2)[::2]
