"""Loads and stores share engines, path and memory, but do not wait for each other's operands."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trnbench_emulator.core.builder import Builder
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.core.pace import Pace
from trnbench_emulator.core.program import LOAD, STORE, queue_of
from trnbench_emulator.core.scheduler import Schedule, schedule
from trnbench_emulator.nki import Machine
from trnbench_emulator.nki.instruction import Instruction
from trnbench_emulator.nki.op import Op

TRN1, TRN2 = "trn1.32xlarge", "trn2-16.48xlarge"
KINDS = ("load", "store", "vector")


def op(kind: str, size: int = 2048, rows: int = 128) -> Op:
    if kind == "vector":
        return Op("vector", "tensor_copy", "fp32", {"N": size // 4, "P": rows}, {})
    src, dst = ("hbm", "sbuf") if kind == "load" else ("sbuf", "hbm")
    fields = {"bytes": rows * size, "descriptors": rows, "P": rows, "src": src, "dst": dst}
    direction = "hbm_read" if kind == "load" else "hbm_write"
    return Op("dma", "dma_copy", "uint8", fields, {direction: rows * size})


def carried_out(system: Any, steps: list[tuple[Op, int | None]], *, fold: bool = False) -> Schedule:
    """`steps`: an op each, and which earlier one it waits for."""
    builder = Builder(Machine.of(system))
    for each, _ in steps:
        builder.take(Instruction(each, (), (), "", 0))
    program = builder.program
    for number, (_, source) in enumerate(steps):
        if source is not None:
            program.deps.append(source << 2)
            program.waiters.append(number)
    return schedule(program, Pace(CostTable(system)), fold=fold)


def test_a_store_that_waits_for_its_operand_holds_up_no_load(registry: Any) -> None:
    system = registry.system(TRN1)
    slow = op("vector", 65536)
    rounds = [(op("load"), None), (slow, 0), (op("store"), 1), (op("load"), None)]
    made = carried_out(system, rounds)
    assert made.end[3] < made.end[1] < made.start[2] + made.end[2]
    alone = carried_out(system, [(op("load"), None), (op("load"), None), (op("load"), None)])
    # It takes its share of the engines, no more: as if it had come between the loads.
    assert made.end[3] <= alone.end[2]


@pytest.mark.parametrize("where", [TRN1, TRN2])
def test_a_stream_in_and_out_keeps_the_engines_busy(registry: Any, where: str) -> None:
    steps: list[tuple[Op, int | None]] = []
    for _ in range(100):
        at = len(steps)
        steps += [(op("load", 8192), None), (op("vector", 8192), at), (op("store", 8192), at + 1)]
    made = carried_out(registry.system(where), steps)
    assert made.busy["dma"] <= made.total <= 1.03 * made.busy["dma"]


@given(
    kinds=st.lists(
        st.tuples(st.sampled_from(KINDS), st.sampled_from([64, 2048, 65536])), min_size=1, max_size=60
    ),
    waits=st.lists(st.integers(0, 59), min_size=60, max_size=60),
)
@settings(deadline=None)
def test_capacity_is_kept_and_rings_stay_in_order(
    registry: Any, kinds: list[tuple[str, int]], waits: list[int]
) -> None:
    steps = [
        (op(kind, size), waits[at] % at if at and waits[at] % 3 else None)
        for at, (kind, size) in enumerate(kinds)
    ]
    made = carried_out(registry.system(TRN2), steps)
    latest = {LOAD: 0, STORE: 0}
    for number, (each, _) in enumerate(steps):
        queue = queue_of(each)
        if queue in latest:
            assert made.end[number] >= latest[queue]
            latest[queue] = made.end[number]
    last = max((at for at, (each, _) in enumerate(steps) if each.engine == "dma"), default=None)
    if last is not None:
        # Whatever came before it, of both rings, has had its time on the engines.
        assert made.end[last] >= made.busy["dma"] - 1
    again = carried_out(registry.system(TRN2), steps, fold=True)
    assert (again.start, again.end) == (made.start, made.end)
