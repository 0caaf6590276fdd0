"""The program itself: commands without importing them, errors without tracebacks, exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from command import loaded, loaded_by, refusal, typed

import trnbench
from trnbench.cli import commands
from trnbench.cli.commands import TEXT, Found, command_problems, find_commands
from trnbench.cli.main import cli
from trnbench.distribution import EntryPoint
from trnbench.errors import ExitCode, PluginError, StoreError, UnknownName
from trnbench.terminal import failure
from trnbench.terminal.context import Session, session

RAISED: dict[str, BaseException] = {
    "interrupt": KeyboardInterrupt(),
    "interrupt-early": KeyboardInterrupt(),
    "prompt": click.Abort(),
    "pipe": BrokenPipeError(),
    "store": StoreError("the store is locked", cause="another run writes", try_="wait"),
    "hostile": UnknownName("instance", "\x1b[2J", ["a"]),
}


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> type[CliRunner]:
    """The program with a few commands of a test's own."""

    @click.command()
    @click.argument("how")
    @session
    def fail(shared: Session, *, how: str) -> int:
        if how == "interrupt":
            shared.kept = "3 of 9 results are in the store"
        if how == "bug":
            return int("no number")
        if how == "exit":
            sys.exit(0)  # as code of a plugin may
        if how == "file":
            Path("/nonexistent/file").read_text()
        if how in RAISED:
            raise RAISED[how]
        return ExitCode.GATE if how == "gate" else ExitCode.OK

    def load(found: Found) -> click.Command:
        assert found.name == "fail"
        return fail

    monkeypatch.setattr(
        commands, "find_commands", lambda block: {"fail": Found("fail", "x:y", "trnbench", "1")}
    )
    monkeypatch.setattr(Found, "load", load)
    return CliRunner


@pytest.mark.parametrize(
    ("how", "code", "stderr"),
    [
        ("well", 0, ""),
        ("gate", 1, ""),
        ("interrupt", 130, "\ninterrupted: 3 of 9 results are in the store\n"),
        ("interrupt-early", 130, "\ninterrupted: this command had saved nothing yet\n"),
        ("prompt", 2, "error: stopped at the question; nothing was changed\n"),
        ("pipe", 0, ""),
        ("store", 2, "error: the store is locked\n  cause: another run writes\n  try:   wait\n"),
        (
            "file",
            2,
            "error: No such file or directory: '/nonexistent/file'\n  cause: the file system refused it\n"
            "  try:   check the path and its permissions (TRNBENCH_DEBUG=1 shows where it was used)\n",
        ),
        ("hostile", 2, "error: unknown instance '\\x1b[2J'\n  cause: known: a\n"),
    ],
)
def test_failures_become_messages_and_exit_codes(
    program: type[CliRunner], how: str, code: int, stderr: str
) -> None:
    result = program().invoke(cli, ["fail", how])
    assert (result.exit_code, result.stdout, result.stderr) == (code, "", stderr)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("bug", "ValueError: invalid literal for int() with base 10: 'no number'"),
        ("exit", "SystemExit: 0"),
    ],
)
def test_bug_is_one_paragraph_until_the_traceback_is_asked_for(
    program: type[CliRunner], how: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["trnbench", "fail", "a bug"])
    result = program().invoke(cli, ["fail", how])
    assert result.exit_code == ExitCode.CRASH
    assert "Traceback" not in result.stderr
    first, second, third = result.stderr.splitlines()
    assert first == f"error: internal error: {message}"
    assert second.startswith(f"  cause: a bug in {__file__}:")
    assert third == (
        "  try:   TRNBENCH_DEBUG=1 trnbench fail 'a bug'   shows the traceback; please report it with that"
    )
    monkeypatch.setenv(failure.DEBUG, "1")
    told = program().invoke(cli, ["fail", how]).stderr
    assert told.startswith("Traceback (most recent call last)")
    assert told.count("error: internal error") == 1


def test_usage_errors_are_ours_to_word(program: type[CliRunner]) -> None:
    unknown = program().invoke(cli, ["fial"])
    assert (unknown.exit_code, unknown.stdout) == (2, "")
    assert unknown.stderr == (
        "error: unknown command 'fial'\n  cause: did you mean fail?\n  try:   trnbench --help\n"
    )
    option = program().invoke(cli, ["fail", "--hwo", "x"])
    assert option.exit_code == 2
    assert option.stderr.endswith("\n  try:   trnbench fail --help\n")
    assert option.stderr.startswith("error: no such option")
    missing = program().invoke(cli, ["fail"])
    assert missing.stderr == "error: missing argument 'HOW'\n  try:   trnbench fail --help\n"


@pytest.mark.parts
def test_table_of_commands_is_what_the_package_declares(root: Path) -> None:
    declared = tomllib.loads((root / "pyproject.toml").read_text())["project"]["entry-points"]
    assert list(find_commands()) == list(declared["trnbench.commands"])
    for name, target in declared["trnbench.commands"].items():
        assert find_commands()[name].about, f"{TEXT} beside {target} says nothing of {name}"
        command = EntryPoint("trnbench.commands", name, target, "trnbench", "0").load()
        assert isinstance(command, click.Command)
        assert command.name == name


@pytest.mark.parts
def test_help_lists_commands_in_workflow_order_and_imports_none() -> None:
    out, modules = loaded_by("--help")
    first_words = [line.split()[0] for line in out.splitlines() if line.strip()]
    assert [word for word in first_words if word in find_commands()] == list(find_commands())
    ours = {name for name in modules if name.startswith("trnbench")}
    assert ours == {
        "trnbench",
        "trnbench.errors",
        "trnbench.cli",
        "trnbench.cli.commands",
        "trnbench.cli.main",
        "trnbench.cli.help_page",
        "trnbench.terminal",
        "trnbench.terminal.context",
        "trnbench.terminal.option",
        "trnbench.distribution",
    }
    heavy = {"pluggy", "msgspec", "numpy", "rich", "jinja2", "sqlite3", "importlib.metadata"}
    heavy |= {"difflib", "pathlib", "shutil"}
    assert not heavy & modules


@pytest.mark.parts
def test_the_version_is_known_without_metadata() -> None:
    out, modules = loaded_by("--version")
    assert out.startswith(f"trnbench {metadata.version('trnbench')} (Python 3.")
    assert out.endswith(", plugin contract 4)\n")
    assert not {"importlib.metadata", "pluggy", "msgspec"} & modules
    assert trnbench.__version__ == metadata.version("trnbench")


@pytest.mark.parts
def test_start_up_stays_small_with_five_plugins_installed(tmp_path: Path) -> None:
    for number in range(5):
        info = tmp_path / f"extra{number}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: extra{number}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(
            f"[trnbench]\nextra{number} = extra{number}\n"
            f"[trnbench.commands]\nfrob{number} = extra{number}:frob\n"
        )
        (tmp_path / f"extra{number}.py").write_text("raise AssertionError('--help imports no plugin')\n")

    with_plugins = {"env": {**os.environ, "PYTHONPATH": str(tmp_path)}}
    _, bare = loaded("pass", **with_plugins)
    smallest = "import click\n@click.group()\ndef c(): pass\ntry: c(['--help'])\nexcept SystemExit: pass"
    _, click_alone = loaded(smallest, **with_plugins)
    out, ours = loaded_by("--help", **with_plugins)
    assert "frob4" in out
    # Beyond the smallest click program: sixteen modules of ours, and nothing of the library.
    extra = sorted(ours - bare - click_alone)
    assert all(name.partition(".")[0] == "trnbench" for name in extra), extra
    assert len(extra) <= 16, extra


def test_a_package_says_where_its_command_stands_and_what_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / TEXT).write_text("15 frob Turn it around.\nno line of ours\n")
    entry = EntryPoint("trnbench.commands", "frob", "acme.cli:frob", "acme", "1")
    monkeypatch.setattr(commands, "entry_points", lambda groups: [entry])
    assert commands.find_commands()["frob"].help == "(from acme)"
    monkeypatch.syspath_prepend(tmp_path)
    commands._read_texts.cache_clear()
    found = commands.find_commands()["frob"]
    assert (found.place, found.help) == (15, "Turn it around. (from acme)")
    commands._read_texts.cache_clear()


def test_command_that_cannot_be_imported_says_so() -> None:
    with pytest.raises(PluginError) as error:
        Found("frob", "no_such_module:frob", "acme", "1.2").load()
    assert str(error.value) == (
        "command 'frob' is not installed here\n"
        "  cause: it comes with the package no_such_module of acme 1.2\n"
        "  try:   pip install --force-reinstall --no-deps acme"
    )
    assert error.value.exit_code == ExitCode.CRASH
    with pytest.raises(PluginError) as error:
        Found("frob", "json:nothing", "acme", "1.2").load()
    assert error.value.what == "command 'frob' of acme 1.2 cannot be imported"
    assert error.value.try_ == "reinstall or remove acme; the other commands work: trnbench --help"
    with pytest.raises(PluginError) as error:
        Found("frob", "json:dumps", "acme", "1.2").load()
    assert error.value.cause == "json:dumps is function; it needs @click.command"


def test_two_owners_of_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def entry(group: str, name: str, distribution: str) -> EntryPoint:
        return EntryPoint(group, name, "m:c", distribution, "1")

    entries = [
        entry("trnbench.commands", "run", "trnbench"),
        entry("trnbench.commands", "frob", "zeta"),
        entry("trnbench.commands", "frob", "Beta"),
        entry("trnbench.commands", "run", "Beta"),
        entry("trnbench", "beta-plugin", "Beta"),
    ]
    monkeypatch.setattr(commands, "entry_points", lambda groups: entries)
    found = commands.find_commands()
    assert [(each.name, each.distribution) for each in found.values()] == [
        ("run", "trnbench"),
        ("frob", "Beta"),
    ]
    assert found["run"].help == "(comes with the package m, which is not installed)"
    assert found["frob"].help == "(from Beta; zeta has one too)"
    assert [str(problem) for problem in command_problems(found)] == [
        "command 'run' of Beta has an owner\n"
        "  cause: trnbench brings it already; that one is kept\n"
        "  try:   rename it in the pyproject.toml of Beta, or leave it out: --no-plugin Beta",
        "command 'frob' of zeta has an owner\n"
        "  cause: Beta brings it already; that one is kept\n"
        "  try:   rename it in the pyproject.toml of zeta, or leave it out: --no-plugin zeta",
    ]
    assert commands.find_commands(["beta_plugin"])["frob"].distribution == "zeta"
    monkeypatch.setenv("TRNBENCH_NO_EXTERNAL_PLUGINS", "1")
    assert list(commands.find_commands()) == ["run"]


def test_closed_pipe_is_quiet() -> None:
    told = subprocess.run(
        f"set -o pipefail; {sys.executable} -m trnbench config show --format json | head -c 1",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (told.returncode, told.stdout, told.stderr) == (0, "[", "")


def test_closed_stdout_is_said_and_nothing_is_written_elsewhere(tmp_path: Path) -> None:
    told = subprocess.run(
        f"{sys.executable} -m trnbench --store r.db config show >&-",
        shell=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (told.returncode, told.stdout, list(tmp_path.iterdir())) == (2, "", [])
    assert told.stderr.endswith("  cause: stdout is closed\n  try:   send the output elsewhere\n")


@pytest.mark.parametrize("words", [[], ["runs"], pytest.param(["nki"], marks=pytest.mark.parts), ["store"]])
def test_a_command_without_words_shows_its_help(words: list[str]) -> None:
    assert refusal(typed(*words)) == typed(*words, "--help").stdout
