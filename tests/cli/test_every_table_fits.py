"""What every command prints fits a terminal of 60, 80, 120 and 200 columns; ids and paths stay whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from at_terminal import Shown, shown
from campaigns import sweep
from command import installed_commands

from trnbench.cli.main import cli
from trnbench.registry import Registry
from trnbench.store.store import Store
from trnbench.terminal import table
from trnbench.terminal.cell import Column, width_of
from trnbench.terminal.context import Session

pytestmark = pytest.mark.parts
WIDTHS = (60, 80, 120, 200)

LINES = [line for line in (Path(__file__).parent / "tables.txt").read_text().splitlines() if line[0] != "#"]
KERNELS = str(Path(__file__).parents[1] / "nki" / "user_kernels")
TABLES = [line[2:].replace("KERNELS", KERNELS) for line in LINES]

PROSE = [line[2:] for line in LINES if line[0] == "+"]
"""Commands that break lines of their own beside those of tables."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, registry: Registry) -> Path:
    """Has one run, of cases with short names and long ones."""
    path = tmp_path_factory.mktemp("s") / "r.db"
    words = "gemm vector_modes -i trn2-16.48xlarge --dtype bf16 --no-report --maxfail 1"
    assert at(80, registry, "--store", str(path), "run", "-q", *words.split()).code == 0
    return path


def at(columns: int, registry: Registry, *words: str) -> Shown:
    session = Session()
    session.registry = registry
    return shown(*words, columns=columns, session=session)


@pytest.mark.parametrize("words", TABLES)
def test_a_table_fits(words: str, registry: Registry, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables: list[tuple[Sequence[Mapping[str, object]], Sequence[Column], str]] = []
    text = table.text

    def kept(rows: Any, columns: Any, title: str, **how: Any) -> tuple[str, list[str]]:
        tables.append((rows, columns, title))
        return text(rows, columns, title, **how)

    monkeypatch.setattr(table, "text", kept)
    with Store(store) as opened:
        words = words.replace("RUN", opened.resolve("latest"))
    found = at(80, registry, "--store", str(store), *words.split())
    assert found.code in ((0, 2) if words.startswith("resume") else (0,))
    # A command that is to be copied stays on its line.
    assert [line for line in found.wider_than(80) if " trnbench " not in line] == []
    for rows, columns, title in tables:
        for width in WIDTHS:
            narrow, left_out = text(rows, columns, title, width=width)
            wide = [line for line in narrow.splitlines() if width_of(line) > width]
            assert [line for line in wide if len(line.split()) > 1] == []
            assert columns[0].heading not in left_out
            assert not rows or len(left_out) < max(len(columns) - 1, 1)
            identified = [column for column in columns if column.key in ("id", "run", "case")]
            for column in identified[:1] if identified[:1] == list(columns[:1]) else ():
                assert all(str(row[column.key]) in narrow.split() for row in rows)


@pytest.mark.parametrize("columns", sweep(WIDTHS, (60).__eq__))
@pytest.mark.parametrize("words", PROSE)
def test_lines_between_tables_fit(words: str, columns: int, registry: Registry, store: Path) -> None:
    found = at(columns, registry, "--store", str(store), *words.split())
    assert (found.code, found.wider_than(columns)) == (0, [])


@pytest.mark.parametrize("how", ["--no-color", "NO_COLOR", "TERM"])
def test_without_colours_it_fits_as_well(
    how: str, registry: Registry, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how != "--no-color":
        monkeypatch.setenv(how, "dumb")
    options = ["--no-color"] if how == "--no-color" else []
    found = at(80, registry, *options, "--store", str(store), "runs", "show", "latest")
    assert "\x1b" not in found.text
    # A command that is to be copied stays on its line.
    assert [line for line in found.wider_than(80) if " trnbench " not in line] == []
    assert any(len(line.split()) == 1 and "::gemm[dtype=bf16,size=128]@core" in line for line in found.lines)


def test_wide_and_pipes_have_everything_in_long_lines(
    registry: Registry, store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wide = at(60, registry, "--no-color", "--store", str(store), "runs", "show", "latest", "--format", "wide")
    assert capsys.readouterr().err.startswith("run ")
    session = Session()
    session.registry = registry
    with pytest.raises(SystemExit):
        cli.main(["--store", str(store), "runs", "show", "latest"], obj=session)
    piped = capsys.readouterr()
    assert piped.out == wide.text
    assert "no room" not in piped.err
    assert " ".join(wide.lines[0].split()) == "case status time result of peak evidence near expect reason"


def test_every_command_that_prints_tables_is_among_them() -> None:
    known = [words.split() for words in TABLES]
    tables = [
        name.split()
        for name, command in installed_commands()
        if any(parameter.name == "format" for parameter in command.params)
    ]
    missing = [path for path in tables if not any(words[: len(path)] == path for words in known)]
    assert missing == [], "a line in TABLES shows that its tables fit"


EIGHT = "-i trn1.32xlarge -i trn1n.32xlarge -i trn2-16.48xlarge -i trn2n.48xlarge"
QUESTIONS = (
    f"run gemm {EIGHT} -i u-trn2x64 -i trn2.3xlarge -i trn3-gen1-ultraserver -i trn3-gen2-ultraserver"
    " --scope device --dtype bf16 -a size=8192x4096x1024 --no-report",
    f"fabric run all_reduce {EIGHT} -b 1M -e 2M",
    f"workload run gpt2 {EIGHT} --task decode --tp 1 -a batch=1,4",
)


@pytest.mark.parametrize("words", QUESTIONS)
def test_eight_rows_take_twelve_lines(
    words: str, registry: Registry, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what stays on the terminal beside them: the run's id and where it is kept."""
    found = at(80, registry, "--store", str(tmp_path / "r.db"), *words.split())
    assert (found.code, found.wider_than(80)) == (0, [])
    rows = [line for line in found.lines if line.startswith(("trn", "u-trn"))]
    messages = [line for line in capsys.readouterr().err.splitlines() if " cases (" not in line]
    assert len(rows) == 8
    assert len(found.lines) + len(messages) <= 12
