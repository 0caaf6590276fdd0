"""The cost tables: formulas that can be computed, rows that can be reached, sentences for what is absent."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import cost_rows
import pytest
from messages import pairs

from trnbench.registry import Registry
from trnbench_emulator.core.costs import CostTable

TABLES = pytest.mark.parametrize("name", ["trn1", "trn2", "trn3"])

ENGINES = {"tensor", "vector", "scalar", "gpsimd"}
CONDITIONS = {
    "fp32",
    "transpose",
    "psum_inputs",
    "psum_operands",
    "all_sbuf",
    "contiguous",
    "all_bf16",
    "all_16bit",
    "op",
    "zero",
}
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
def test_a_row_is_complete(row: cost_rows.Row) -> None:
    assert set(row.entry) <= {"engine", "cycles", "when", "mode", "source", "evidence", "note"}
    assert row.entry.get("mode", "performance") == "performance"
    assert set(row.engines) <= ENGINES
    assert set(row.entry.get("when", {})) <= CONDITIONS
    assert row.entry.get("evidence", "documented") in {"documented", "derived", "inferred"}
    assert row.entry["source"]


def _rows_of(name: str, costs: dict[str, Any]) -> dict[str, list[cost_rows.Row]]:
    """By instruction, with what a generation has of its base."""
    return {
        instruction: [cost_rows.Row(name, instruction, entry) for entry in entries]
        for instruction, entries in costs[name]["instructions"].items()
    }


@TABLES
def test_no_row_stands_behind_one_that_always_fits(name: str, costs: dict[str, Any]) -> None:
    for rows in _rows_of(name, costs).values():
        before: list[cost_rows.Row] = []
        for row in rows:
            asks = row.entry.get("when", {})
            taken = {
                engine
                for other in before
                if other.entry.get("when", {}).items() <= asks.items()
                for engine in other.engines
            }
            assert set(row.engines) - taken, f"{row.name} can never be reached"
            before.append(row)


@TABLES
def test_every_priced_instruction_has_a_row_without_conditions(name: str, costs: dict[str, Any]) -> None:
    for instruction, rows in _rows_of(name, costs).items():
        engines = {engine for row in rows for engine in row.engines}
        always = {engine for row in rows if not row.entry.get("when") for engine in row.engines}
        assert engines == always, instruction
    assert not set(costs[name]["unpriced"]) & set(costs[name]["instructions"])


@pytest.mark.parametrize(
    ("name", "instruction", "when", "variables", "cycles"),
    [
        ("trn1", "nc_matmul", {}, {"N_moving": 512}, 512),
        ("trn1", "nc_matmul", {}, {"N_moving": 16, "N_stationary": 128}, 64),
        ("trn1", "nc_matmul", {"fp32": True}, {"N_moving": 512}, 2048),
        ("trn2", "nc_matmul", {"fp32": True, "transpose": True}, {"N_moving": 512}, 1024),
        ("trn1", "tensor_copy", {}, {"N": 16}, 64),
        ("trn2", "tensor_copy", {"all_16bit": True, "all_sbuf": True, "contiguous": True}, {"N": 512}, 128),
        ("trn1", "tensor_tensor", {}, {"N": 512}, 1024),
        ("trn1", "iota", {}, {"N": 512}, 662),
        ("trn3", "nc_matmul_mx", {}, {"N_moving": 512}, 512),
        ("trn3", "nc_matmul_mx", {}, {"N_moving": 16, "N_stationary": 128}, 64),
        ("trn3", "quantize_mx", {}, {"N": 2048}, 512),
        ("trn3", "quantize_mx", {}, {"N": 64}, 64),
        ("trn3", "exponential", {}, {"N": 512}, 128),
        ("trn3", "activation", {}, {"N": 512}, 512),
    ],
)
def test_documented_costs(
    tables: dict[str, CostTable],
    costs: dict[str, Any],
    name: str,
    instruction: str,
    when: dict[str, bool],
    variables: dict[str, float],
    cycles: float,
) -> None:
    row = next(row for row in _rows_of(name, costs)[instruction] if row.entry.get("when", {}) == when)
    sizes = {**cost_rows.POINTS["tile"], **variables, **when}
    assert tables[name].cycles(instruction, row.engines[0], sizes) == cycles


@pytest.mark.parametrize(("asked", "sentence"), pairs(Path(__file__).with_name("lacking.txt")))
def test_what_a_system_lacks_and_why(registry: Any, asked: str, sentence: str) -> None:
    instance, requirement = asked.split()
    assert (registry.system(instance).lacks(requirement) or "nothing") == sentence


def test_v4_takes_over_what_it_does_not_state(costs: dict[str, Any]) -> None:
    v3, v4 = costs["trn2"], costs["trn3"]
    assert v4["constants"] == v3["constants"]
    assert v4["instructions"]["activation"] == v3["instructions"]["activation"]
    assert v4["dma"]["semaphore_to_start_ns"] == v3["dma"]["semaphore_to_start_ns"]
    assert v4["dma"]["bytes_per_ns_per_engine"] == 33
    assert v3["dma"]["bytes_per_ns_per_engine"] == 23


@pytest.mark.parametrize("name", ["trn1", "trn2", "trn3"])
def test_dma_costs_are_those_of_the_facts(name: str, costs: dict[str, Any], registry: Registry) -> None:
    core = {"trn1": "neuroncore-v2", "trn2": "neuroncore-v3", "trn3": "neuroncore-v4"}[name]
    instance = registry.generations[name].instances[0].name
    book, dma = registry.system(instance).book, costs[name]["dma"]
    assert dma["bytes_per_ns_per_engine"] * 1e9 == book.value(core, "dma_engine_bandwidth", qualifier="")
    assert dma["bytes_per_ns_per_engine_theoretical"] * 1e9 == book.value(
        core, "dma_engine_bandwidth", qualifier="theoretical"
    )
    assert dma["engines_per_core"] == book.value(core, "dma_engine_count")


# One test for each instruction's row of each cost table, and the proof that it sees any change in it ---


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
    assert min(map(min, KEPT.values())) > 0
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


NAMED_FREELY = {"constants", "instructions", "latency", "overheads", "memory_accesses", "held_out", "cannot"}
NAMED_FREELY |= {"sendrecv_bytes_per_partition"}


def keys(table: dict[str, Any]) -> Iterator[str]:
    """Those of a table and of all within, but names that whoever writes the table chooses."""
    for name, value in table.items():
        yield name
        inner = value if isinstance(value, list) else [value]
        if name in NAMED_FREELY:
            inner = [row for each in value.values() for row in (each if isinstance(each, list) else [each])]
        for each in inner:
            if isinstance(each, dict) and name != "dma":  # its keys say what they are, and lie in one table
                yield from keys(each)


@pytest.mark.parametrize("generation", cost_rows.files())
def test_every_key_is_documented(generation: str, root: Path) -> None:
    page = (root / "docs" / "costs.md").read_text(encoding="utf-8")
    block = page.partition("```toml\n")[2].partition("```")[0]
    assert {"constants", "instructions", "fabric", "limits"} <= tomllib.loads(block).keys()
    used = set(keys(tomllib.loads(cost_rows.files()[generation].read_text(encoding="utf-8"))))
    assert {each for each in used if not re.search(rf"\b{re.escape(each)}\b", block)} == set()
