"""The tour as a notebook: every cell runs, in order, and shows something."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

import trnbench


@pytest.fixture
def cells(root: Path) -> list[dict[str, Any]]:
    document = json.loads((root / "docs" / "tour.ipynb").read_text(encoding="utf-8"))
    assert (document["nbformat"], document["metadata"]["language_info"]["name"]) == (4, "python")
    return list(document["cells"])


def shown(source: str, names: dict[str, Any]) -> Any:
    """What a notebook shows of a cell: the value of its last line, where that is an expression."""
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "<cell>", "exec"), names)
    return (
        eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
        if isinstance(last, ast.Expr)
        else None
    )


def test_every_cell_runs_and_shows_something(
    cells: list[dict[str, Any]],
    root: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(root / "docs")
    names: dict[str, Any] = {}
    values = []
    for cell in cells:
        if cell["cell_type"] == "code":
            value = shown("".join(cell["source"]), names)
            printed = capsys.readouterr().out
            assert value is not None or printed, cell["source"]
            assert len(repr(value)) < 2_000
            values.append(value)
    assert len(values) > 8
    assert isinstance(values[0], trnbench.Run)
    assert "rgba" in values[0]._repr_html_()
    told = r"<KernelRun matmul on trn2-16.48xlarge: [\d.]+ µs emulated, bound by \w+>"
    assert re.fullmatch(told, repr(names["mine"]))
    assert names["folder"].joinpath("report.html").read_bytes().startswith(b"<!DOCTYPE html>")


def test_it_is_kept_without_what_one_machine_made_of_it(cells: list[dict[str, Any]]) -> None:
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all((cell["outputs"], cell["execution_count"]) == ([], None) for cell in code)
    assert len(cells) > len(code) > 8
