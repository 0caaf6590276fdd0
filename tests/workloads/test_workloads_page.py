"""docs/workloads.md says what the code does, and its commands, its file and its Python run as they stand."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from trnbench.cli.main import cli
from trnbench_steps.hbm import FORMULAS
from trnbench_steps.layer import architectures
from trnbench_steps.measures import FORMULAS as MEASURES
from trnbench_steps.model import parameters
from trnbench_steps.shipped_models import load_model


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "workloads.md").read_text(encoding="utf-8")


@pytest.mark.campaign("documents")
def test_the_commands_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    commands = [shlex.split(line) for block in blocks for line in block.splitlines()]
    assert [len(block.splitlines()) for block in blocks] == [5, 2, 1, 1, 2]
    for dollar, program, *words in commands:
        assert (dollar, program) == ("$", "trnbench")
        done = CliRunner().invoke(cli, words, prog_name="trnbench")
        assert done.exit_code == 0, done.stderr
        assert done.stdout
    assert (tmp_path / "layer.json").stat().st_size


def test_the_python_runs(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(code, "docs/workloads.md", "exec"), {})
    assert capsys.readouterr().out.startswith("fits 46")


def test_the_file_is_a_model(page: str, tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    model = load_model(path)
    assert model.published[0].parameters == parameters(model).all
    assert model.kinds == load_model("llama-3.2-1b").kinds


def test_every_architecture_is_listed(page: str) -> None:
    table = page.partition("| kind | model_type |")[2].partition("\n\n")[0]
    assert sorted(re.findall(r"`([\w-]+)`", table)) == sorted(architectures())


def test_every_formula_stands_as_the_code_has_it(page: str) -> None:
    table = page.partition("| part | formula |")[2].partition("\n\n")[0]
    assert dict(re.findall(r"^\| `([a-z]+)` \| (.*) \|$", table, re.MULTILINE)) == FORMULAS
    table = page.partition("| measure | formula |")[2].partition("\n\n")[0]
    assert dict(re.findall(r"^\| `([a-z_]+)` \| (.*) \|$", table, re.MULTILINE)) == MEASURES
