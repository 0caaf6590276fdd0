"""Loads and stores share engines, path and memory, but do not wait for each other's operands."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trnbench.errors import FactError
from trnbench_emulator import TICKS_PER_SECOND, TICKS_PER_US, seconds, ticks, ticks_up
from trnbench_emulator.core.builder import Builder
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.core.pace import Pace
from trnbench_emulator.core.program import LOAD, STORE, queue_of
from trnbench_emulator.core.scheduler import Schedule, schedule
from trnbench_emulator.core.scoreboard import overlap
from trnbench_emulator.core.tile import direct_box, joined
from trnbench_emulator.nki import Machine
from trnbench_emulator.nki.dtype import dtype_of
from trnbench_emulator.nki.instruction import Instruction
from trnbench_emulator.nki.memory import Buffer, Form, intern
from trnbench_emulator.nki.op import Op
from trnbench_emulator.nki.view import indexed

TRN1, TRN2 = "trn1.32xlarge", "trn2-16.48xlarge"
KINDS = ("load", "store", "vector")


def op(kind: str, size: int = 2048, rows: int = 128) -> Op:
    if kind == "vector":
        return Op("vector", "tensor_copy", "fp32", {"N": size // 4, "P": rows}, {})
    src, dst = ("hbm", "sbuf") if kind == "load" else ("sbuf", "hbm")
    fields = {"bytes": rows * size, "descriptors": rows, "P": rows, "src": src, "dst": dst}
    direction = "hbm_read" if kind == "load" else "hbm_write"
    return Op("dma", "dma_copy", "uint8", fields, {direction: rows * size})


def carried_out(system: Any, steps: list[tuple[Op, int | None]]) -> Schedule:
    """`steps`: an op each, and which earlier one it waits for."""
    builder = Builder(Machine.of(system))
    for each, _ in steps:
        builder.take(Instruction(each, (), (), "", 0))
    program = builder.program
    for number, (_, source) in enumerate(steps):
        if source is not None:
            program.deps.append(source << 2)
            program.waiters.append(number)
    return schedule(program, Pace(CostTable(system)))


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
def test_capacity_is_kept_and_rings_stay_in_order(registry: Any, kinds: Any, waits: list[int]) -> None:
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


# Boxes of memory: what two views share is never missed, and disjoint slices of an image share nothing ---


def root_of(*shape: int, buffer: Buffer = Buffer.HBM) -> Form:
    strides = tuple(int(np.prod(shape[at + 1 :])) for at in range(len(shape)))
    return intern(buffer, dtype_of("float32"), shape, strides)


def box(root: Form, *index: Any) -> tuple[int, ...]:
    form, offset = indexed(root, index)
    return direct_box(form, root, offset)


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ((0, slice(0, 128), 3), (0, slice(0, 128), 4), False),
        ((0, slice(0, 128), 3), (0, slice(128, 256), 3), False),
        ((0, slice(0, 128), 3), (0, slice(64, 192), 3), True),
        ((0, slice(0, 128), slice(2, 4)), (0, slice(0, 128), slice(3, 5)), True),
    ],
)
def test_rows_of_an_image(one: Any, other: Any, share: bool) -> None:
    image = root_of(1, 256, 222, 222)
    assert overlap(box(image, *one), box(image, *other)) is share


_SIDE = st.tuples(st.integers(0, 5), st.integers(1, 6), st.integers(1, 3))


@given(shape=st.lists(st.integers(1, 6), min_size=1, max_size=4), data=st.data())
def test_no_shared_element_is_missed(shape: list[int], data: st.DataObject) -> None:
    root, elements = root_of(*shape), np.arange(int(np.prod(shape))).reshape(shape)
    found = []
    for _ in range(2):
        index = tuple(slice(low % size, None if count > size else count, step) for size in shape
                      for low, count, step in [data.draw(_SIDE)])  # fmt: skip
        picked = elements[index]
        found.append((set(picked.ravel().tolist()), index))
    if all(members for members, _ in found):
        (one, at), (other, there) = found
        if one & other:
            assert overlap(box(root, *at), box(root, *there))


def test_boxes_that_touch_become_one() -> None:
    assert joined((0, 4, 0, 8), (0, 4, 8, 16)) == (0, 4, 0, 16)
    assert joined((0, 4, 0, 8), (4, 6, 0, 8)) == (0, 6, 0, 8)
    assert joined((0, 4, 0, 8), (0, 4, 12, 16)) is None
    assert joined((0, 4, 0, 8), (4, 6, 8, 16)) is None
    assert joined((0, 1, 0, 64, 0, 1, 0, 4), (0, 1, 16, 80, 0, 1, 4, 6)) == (0, 1, 0, 80, 0, 1, 0, 6)


# Ticks and seconds: which way each rounding goes, and that one undoes the other ----------------------


@pytest.mark.parametrize(
    ("picoseconds", "nearest", "up"),
    [
        (0.0, 0, 0),
        (0.49, 0, 1),
        (0.5, 1, 1),
        (1.5, 2, 2),
        (2.5, 3, 3),
        (714.2857, 714, 715),
        (1400.0, 1400, 1400),
        (1400.0001, 1400, 1400),
        (1400.001, 1400, 1401),
    ],
)
def test_a_time_is_rounded_to_the_nearest_tick_and_work_is_rounded_up(
    picoseconds: float, nearest: int, up: int
) -> None:
    assert ticks(picoseconds * 1e-12) == nearest
    assert ticks_up(picoseconds * 1e-12) == up


@pytest.mark.parametrize("stated_ns", [0.1, 0.3, 1.4, 2.3, 153.0, 1500.0, 1e6])
def test_a_stated_time_is_a_whole_number_of_ticks_either_way(stated_ns: float) -> None:
    assert ticks(stated_ns * 1e-9) == ticks_up(stated_ns * 1e-9) == round(stated_ns * 1000)


def test_ticks_are_undone() -> None:
    assert seconds(TICKS_PER_SECOND) == 1.0
    assert seconds(TICKS_PER_US) == 1e-6
    assert all(ticks(seconds(count)) == ticks_up(seconds(count)) == count for count in (1, 7, 12_345, 10**15))


# Limits of each generation's core, from its facts ----------------------------------------------------


@pytest.mark.parametrize(
    ("instance", "version", "sbuf_kib", "moving", "moving_bf16", "psum_dtypes"),
    [
        ("trn1.32xlarge", 2, 192, 512, 512, ("float32",)),
        ("trn2-16.48xlarge", 3, 224, 512, 512, ("float32",)),
        ("trn3-gen1-ultraserver", 4, 256, 4096, 8192, ("float32", "bfloat16")),
    ],
)
def test_documented_limits(
    registry: Any,
    instance: str,
    version: int,
    sbuf_kib: int,
    moving: int,
    moving_bf16: int,
    psum_dtypes: tuple[str, ...],
) -> None:
    machine = Machine.of(registry.system(instance))
    assert machine.nc_version == version
    assert machine.sbuf_partition_bytes == sbuf_kib << 10
    assert (machine.partitions, machine.stationary_free, machine.moving_free) == (128, 128, moving)
    assert machine.moving_free_bf16 == moving_bf16
    assert (machine.psum_partition_bytes, machine.psum_banks, machine.psum_bank_bytes) == (16384, 8, 2048)
    assert machine.psum_dtypes == psum_dtypes


def test_a_limit_no_document_gives(registry: Any) -> None:
    system = registry.system("trn2-16.48xlarge")
    facts = tuple(fact for fact in system.book.facts if fact.metric != "psum_bank_count")
    bare = msgspec.structs.replace(system, book=msgspec.structs.replace(system.book, facts=facts))
    with pytest.raises(FactError) as caught:
        Machine.of(bare)
    assert caught.value.what == "no fact gives psum_bank_count of neuroncore-v3"
