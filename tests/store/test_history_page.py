"""docs/history.md says what the code does, and its commands and its Python run as they stand."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from command import typed

from trnbench.results import history
from trnbench.results.history import TOLD


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "history.md").read_text()


@pytest.mark.parts
def test_the_commands_and_the_python_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRNBENCH_STORE", str(tmp_path / "results.db"))
    (block,) = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    commands = [shlex.split(line, comments=True) for line in block.splitlines()]
    assert len(commands) == 7
    for dollar, program, *words in commands:
        assert (dollar, program) == ("$", "trnbench")
        done = typed(*words)
        assert done.exit_code == 0, done.stderr
    assert (tmp_path / "history.html").exists()
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(code, "docs/history.md", "exec"), {})
    assert re.match(r"trn2-16\.48xlarge::gemm\[\S+ \d", capsys.readouterr().out)


def test_numbers_on_the_page_are_those_of_the_code(page: str) -> None:
    text = " ".join(page.split())
    assert f"a penalty of {history._PENALTY:g}·ln(n)·σ² for each step, n at least {history._SHORT}" in text
    assert f"at least {history.SMALLEST * 100:g} %" in text
    assert f"further than {history._FAR:g}σ from the median of the five" in text
    assert (history._AROUND, history.LEAST) == (5, 3)
    assert all(f"`{status}`" in text for status in TOLD)
