"""One test for each instruction's row of each cost table, and the proof that it sees any change in it."""

from __future__ import annotations

import ast
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import cost_rows
import pytest

from trnbench.registry import Registry
from trnbench_emulator.core.costs import CostTable

ROWS = list(cost_rows.rows())
KEPT = cost_rows.kept()
EACH_ROW = pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])


@pytest.fixture(scope="module")
def tables(registry: Registry) -> dict[str, CostTable]:
    """What prices instructions for an emulation, by generation."""
    return {
        name: CostTable(registry.system(registry.generations[name].instances[0].name))
        for name in cost_rows.files()
    }


@EACH_ROW
def test_a_row_gives_the_cycles_that_are_kept_of_it(row: cost_rows.Row, tables: dict[str, CostTable]) -> None:
    assert row.name in KEPT, "a new row: .ci/renew costs, and read what it gives"
    table = tables[row.generation]
    for engine in row.engines:
        found = [
            table.cycles(row.instruction, engine, {**sizes, **row.conditions})
            for sizes in cost_rows.POINTS.values()
        ]
        assert found == KEPT[row.name], f"on the {engine} engine; where it is meant: .ci/renew costs"


def test_every_row_is_kept_once_and_no_row_that_went() -> None:
    assert set(KEPT) == {row.name for row in ROWS}
    assert [name for name, count in Counter(row.name for row in ROWS).items() if count > 1] == []
    assert tomllib.loads(cost_rows.KEPT.read_text())["points"] == cost_rows.POINTS


@pytest.mark.parametrize("formula", sorted({row.entry["cycles"] for row in ROWS}))
def test_no_other_formula_gives_the_same_cycles(formula: str, registry: Registry) -> None:
    """Each number, name, operation and function changed, one at a time: the cycles are other ones."""
    row = next(row for row in ROWS if row.entry["cycles"] == formula)
    constants = registry.costs(row.generation)["constants"]
    same = []
    for other in changed(formula, {**constants, **cost_rows.POINTS["wide"]}):
        with suppress(ZeroDivisionError):
            if cost_rows.cycles(other, constants) == KEPT[row.name]:
                same.append(other)
    assert same == []


@pytest.mark.parametrize("generation", cost_rows.files())
def test_no_other_constant_gives_the_same_cycles(generation: str, registry: Registry) -> None:
    constants = registry.costs(generation)["constants"]
    for name in constants:
        other = {**constants, name: constants[name] * 1.01}
        seen = [
            row.name
            for row in ROWS
            if row.generation == generation and cost_rows.cycles(row.entry["cycles"], other) != KEPT[row.name]
        ]
        used = [row for row in ROWS if row.generation == generation and name in row.entry["cycles"]]
        assert bool(seen) == bool(used), name


def changed(formula: str, names: dict[str, float]) -> Iterator[str]:
    """`formula` with one thing in it changed; a name becomes any other that has another value."""
    tree = ast.parse(formula, mode="eval")
    for place, node in enumerate(ast.walk(tree)):
        for other in _others(node, names):
            copy = ast.parse(formula, mode="eval")
            there: Any = list(ast.walk(copy))[place]
            for field, value in other.items():
                setattr(there, field, value)
            yield ast.unparse(copy)


def _others(node: ast.AST, names: dict[str, float]) -> Iterator[dict[str, Any]]:
    match node:
        case ast.Constant(value=int() | float() as number):
            yield from ({"value": each} for each in (number + 1, number * 0.99, number * 2, 0))
        case ast.Name(id=name) if name in cost_rows.FUNCTIONS:
            swapped = {"min": "max", "max": "min"}
            yield from ({"id": each} for each in [swapped.get(name)] if each)
        case ast.Name(id=name):
            yield from ({"id": each} for each in names if names[each] != names[name])
        case ast.BinOp(op=operation):
            kinds = (ast.Add, ast.Sub, ast.Mult, ast.Div)
            yield from ({"op": each()} for each in kinds if not isinstance(operation, each))
