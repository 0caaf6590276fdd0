"""Completion: a script per shell, and names that come without reading a fact."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from command import loaded, typed
from messages import pairs
from stored_run import make_run

from trnbench.cli.main import cli
from trnbench.store.store import Store


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_script_calls_the_program_back(shell: str) -> None:
    result = typed("completion", shell)
    assert result.exit_code == 0
    assert "_TRNBENCH_COMPLETE" in result.stdout
    assert f"{shell}_complete" in result.stdout
    assert result.stderr.startswith(f"put it where the shell looks:  trnbench completion {shell} ")


def variables(words: str) -> dict[str, str]:
    """What the script of a shell sets before it calls the program back."""
    return {
        "_TRNBENCH_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }


def complete(words: str, **env: str) -> Result:
    return CliRunner().invoke(cli, env={**variables(words), **env}, prog_name="trnbench")


def test_commands_complete() -> None:
    env = {**os.environ, **variables("trnbench ru")}
    told = subprocess.run([sys.executable, "-m", "trnbench"], capture_output=True, text=True, env=env)
    assert (told.stdout.split(), told.stderr) == (["plain,run", "plain,runs"], "")
    assert complete("trnbench completion f").stdout.split() == ["plain,fish"]


def test_options_of_the_program_complete() -> None:
    assert complete("trnbench --no-p").stdout.split() == ["plain,--no-plugin"]


@pytest.mark.parts
def test_names_complete_without_a_system_being_built() -> None:
    out, modules = loaded(
        "from click import Context, Command\n"
        "from trnbench.terminal.names import complete_instances, complete_kernels\n"
        "context = Context(Command('x'))\n"
        "print(complete_instances(context, None, 'trn1.'), 'gemm' in complete_kernels(context, None, 'ge'))"
    )
    assert out == "['trn1.2xlarge', 'trn1.32xlarge'] True\n"
    assert not modules & {"numpy", "trnbench.facts.load", "sqlite3", "rich"}


@pytest.fixture
def store(_own_folder: None) -> str:
    """With two runs, one of them tagged; it is where TRNBENCH_STORE points."""
    with Store() as opened:
        opened.save(make_run(id="20260101-first"), tags=["nightly"])
        opened.save(make_run(id="20260102-second"))
    return str(opened.path)


RUNS = ["20260102-second", "20260101-first"]


@pytest.mark.parametrize(("words", "offered"), pairs(Path(__file__).parent / "completions_of_runs.txt"))
def test_what_the_store_has_is_offered(words: str, offered: str, store: str) -> None:
    told = complete(f"trnbench {words}")
    assert (told.stdout.split(), told.stderr) == ([f"plain,{each}" for each in offered.split()], "")


def test_the_store_of_the_line_is_asked(store: str, tmp_path: Path) -> None:
    assert complete(f"trnbench --store {tmp_path / 'none.db'} runs show ").stdout.strip() == ""
    assert not (tmp_path / "none.db").exists()
    assert complete(f"trnbench --store {store} runs show n", TRNBENCH_STORE="").stdout.split() == [
        "plain,nightly"
    ]


def test_a_shell_that_shows_it_is_told_of_each_run(store: str) -> None:
    told = complete(
        "trnbench runs show ", _TRNBENCH_COMPLETE="zsh_complete", COMP_WORDS="trnbench runs show "
    )
    assert told.stdout.splitlines()[:6] == [
        *("plain", "latest", "the newest run"),
        *("plain", "nightly", "a tag of 1 run"),
    ]


@pytest.mark.parametrize("how", ["locked", "no database", "settings"])
def test_a_store_that_cannot_be_asked_offers_nothing(how: str, store: str, tmp_path: Path) -> None:
    env = {}
    if how == "no database":
        Path(store).write_text("precious")
    if how == "settings":
        (tmp_path / "config.toml").write_text("store = [")
        env = {"TRNBENCH_CONFIG": str(tmp_path / "config.toml"), "TRNBENCH_STORE": "/dev/null"}
    with closing(sqlite3.connect(store, isolation_level=None)) as other:
        if how == "locked":
            other.execute("PRAGMA locking_mode = EXCLUSIVE")
            other.execute("BEGIN EXCLUSIVE")
        told = complete("trnbench runs show 2", **env)
    assert (told.stdout.strip(), told.stderr) == ("", "")


@pytest.mark.parts
@pytest.mark.parametrize(("words", "offered"), pairs(Path(__file__).parent / "completions.txt"))
def test_names_of_what_is_installed_are_offered(words: str, offered: str) -> None:
    told = complete(f"trnbench {words}")
    assert (told.stdout.split(), told.stderr) == ([f"plain,{each}" for each in offered.split()], "")


@pytest.mark.parts
def test_a_file_may_stand_where_a_kernel_or_model_does() -> None:
    assert complete("trnbench workload info ./conf").stdout.split() == ["file,./conf"]
    assert complete("trnbench nki run ./ker").stdout.split() == ["file,./ker"]


def test_runs_are_offered_without_a_look_at_any_plugin(store: str) -> None:
    out, modules = loaded(
        "from click import Context, Command\n"
        "from trnbench.terminal.names import complete_runs\n"
        "print([each.value for each in complete_runs(Context(Command('x')), None, '2026')])"
    )
    assert out == f"{RUNS}\n"
    assert not modules & {"pluggy", "msgspec", "numpy", "trnbench.registry", "rich"}


@pytest.mark.parts
@pytest.mark.parametrize(
    ("line", "words", "offered"),
    [
        ("trnbench run gemm -a si", "trnbench run gemm -a si", ["size="]),
        ("trnbench run gemm -a dtype=", "trnbench run gemm -a dtype =", ["bf16", "fp16"]),
        ("trnbench run gemm -a dtype=bf", "trnbench run gemm -a dtype = bf", ["bf16"]),
        ("trnbench runs show latest --ker", "trnbench runs show latest --ker", ["--kernel"]),
        ("trnbench ru gemm", "trnbench ru gemm", ["run", "runs"]),
    ],
)
def test_bash_completes_what_it_takes_for_several_words(
    line: str, words: str, offered: list[str], tmp_path: Path
) -> None:
    """As bash calls it: the last word is what stands behind the last `=`; the cursor may stand earlier."""
    program = tmp_path / "trnbench"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m trnbench "$@"\n')
    program.chmod(0o755)
    at = 2 if line.startswith("trnbench ru ") else len(words.split())
    point = len("trnbench ru") if at == 2 else len(line)
    script = typed("completion", "bash").stdout + (
        f'\ncompopt() {{ :; }}\nCOMP_LINE="{line}" COMP_POINT={point} COMP_CWORD={at - 1}\n'
        f"COMP_WORDS=({words})\n_trnbench_completion {program}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
    )
    told = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert told.stdout.split()[: len(offered)] == offered
    assert told.stderr == ""


def test_broken_completion_says_nothing() -> None:
    told = complete("trnbench --no-plugin nonsense list k")
    assert "Traceback" not in told.stderr
