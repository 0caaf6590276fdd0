"""Completion: a script per shell, and names that come without reading a fact."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from trnbench.cli.main import cli


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_script_calls_the_program_back(shell: str) -> None:
    result = CliRunner().invoke(cli, ["completion", shell])
    assert result.exit_code == 0
    assert "_TRNBENCH_COMPLETE" in result.stdout
    assert f"{shell}_complete" in result.stdout
    assert result.stderr.startswith(f"put it where the shell looks:  trnbench completion {shell} ")


def test_bash_accepts_the_script() -> None:
    script = CliRunner().invoke(cli, ["completion", "bash"]).stdout
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def complete(words: str, **env: str) -> subprocess.CompletedProcess[str]:
    variables = {
        "_TRNBENCH_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    return subprocess.run(
        [sys.executable, "-m", "trnbench"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables, **env},
    )


def test_commands_complete() -> None:
    told = complete("trnbench ru")
    assert (told.stdout.split(), told.stderr) == (["plain,run", "plain,runs"], "")
    assert complete("trnbench completion f").stdout.split() == ["plain,fish"]


def test_options_of_the_program_complete() -> None:
    assert complete("trnbench --no-p").stdout.split() == ["plain,--no-plugin"]


def test_names_complete_without_a_system_being_built() -> None:
    script = (
        "import sys\n"
        "from click import Context, Command\n"
        "from trnbench.cli.names import complete_instances, complete_kernels\n"
        "context = Context(Command('x'))\n"
        "print(complete_instances(context, None, 'trn1.'), 'gemm' in complete_kernels(context, None, 'ge'))\n"
        "print(sorted(set(sys.modules) & {'tomllib', 'numpy', 'trnbench.facts.load', 'sqlite3', 'rich'}))\n"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    names, heavy = told.stdout.splitlines()
    assert names == "['trn1.2xlarge', 'trn1.32xlarge'] True"
    assert heavy == "[]"


def test_broken_completion_says_nothing() -> None:
    told = complete("trnbench --no-plugin nonsense list k")
    assert "Traceback" not in told.stderr
