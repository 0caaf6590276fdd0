"""What a schedule keeps to, checked on every pair of instructions of kernels drawn at random.

The checks know nothing of how dependencies are found: they compare the regions that operands cover.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from drawn_kernels import kernels, source
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_program import path_of

from trnbench_emulator.core.builder import Builder
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.core.pace import Pace, Without
from trnbench_emulator.core.program import (
    GPSIMD,
    GPSIMD_RING,
    LOAD,
    SCALAR,
    SCALAR_RING,
    Program,
    queue_of,
)  # fmt: skip
from trnbench_emulator.core.scheduler import NOTHING_REMOVED, Schedule, schedule
from trnbench_emulator.nki import Machine, TensorSpec, load_kernel, record
from trnbench_emulator.nki.instruction import Operands
from trnbench_emulator.nki.memory import Life
from trnbench_emulator.nki.op import Op
from trnbench_emulator.nki.site import Place

TRN1 = "trn1.32xlarge"
SYSTEMS = st.sampled_from([TRN1, "trn2-16.48xlarge", "trn3-gen2-ultraserver"])
MOST = 400  # instructions of a kernel whose pairs are compared
CAUSES = st.sampled_from(
    [
        NOTHING_REMOVED,
        Without(buffers=True),
        Without(throttle=True, start=True),
        Without(latency=True, hbm=True),
        Without(semaphores=True),
    ]
)
QUIET = settings(max_examples=10)


class Recorded:
    """A kernel's program, with the regions that its instructions touch, by the tile's life."""

    def __init__(self, file: Any, machine: Machine) -> None:
        self.builder = Builder(machine)
        self.touched: list[tuple[list[Any], list[Any]]] = []
        kernel, _, _ = load_kernel(f"{file}::kernel", nki="trnbench")
        record(kernel, (TensorSpec((128, 8192), "float32"),), machine=machine, sink=self)

    @property
    def program(self) -> Program:
        return self.builder.program

    def issue(self, op: Op, writes: Operands, reads: Operands, place: Place) -> None:
        self.touched.append(([_place(each) for each in reads], [_place(each) for each in writes]))
        self.builder.issue(op, writes, reads, place)


def _place(view: Any) -> tuple[Life, int, tuple[int, int], tuple[int, int]]:
    region = view.region
    root = region.storage.form
    size = root.free * root.dtype.size if region.storage.ledger is not None else 0
    if root.on_chip:
        return region.storage.life, size, region.rows, region.bytes
    # Rows of a tensor in HBM: what a region of it covers is a run, here as rows and columns of the box.
    columns = root.shape[-1]
    first, last = (
        view.offset // columns,
        (view.offset + (view.form.shape[0] - 1) * view.form.strides[0]) // columns,
    )
    start = view.offset % columns
    return region.storage.life, 0, (first, last + 1), (start, start + view.form.shape[-1])


def _meet(one: Any, other: Any) -> bool:
    return one[0] is other[0] and all(
        a[0] < b[1] and b[0] < a[1] for a, b in zip(one[2:], other[2:], strict=True)
    )


@pytest.fixture(scope="module")
def recorded(registry: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Recorded]:
    folder, number = tmp_path_factory.mktemp("drawn"), iter(range(1 << 30))

    def made(body: str, where: str, **limits: int) -> Recorded:
        file = folder / f"kernel_{next(number)}.py"
        file.write_text(source(body))
        machine = Machine.of(registry.system(where))
        return Recorded(file, msgspec.structs.replace(machine, **limits))

    return made


@given(body=kernels(), where=SYSTEMS, without=CAUSES)
@QUIET
def test_nothing_is_used_before_it_is_ready(
    registry: Any, recorded: Callable[..., Recorded], body: str, where: str, without: Without
) -> None:
    """A read after the write it reads; a write after what other queues read and wrote."""
    found = recorded(body, where)
    made = schedule(found.program, Pace(CostTable(registry.system(where))), without=without)
    queues = [queue_of(found.program.ops[op]) for op in found.program.op]
    for later in range(min(len(queues), MOST)):
        reads, writes = found.touched[later]
        for before in range(later):
            used, written = found.touched[before]
            hazard = any(_meet(a, b) for a in written for b in reads)
            if hazard:
                assert made.start[later] >= made.end[before], (before, later)
            elif any(_meet(a, b) for a in (*used, *written) for b in writes):
                same = queues[later] == queues[before] < LOAD
                ready = made.start[before] if same else made.end[before]
                assert made.start[later] >= ready, (before, later)


@given(body=kernels(), where=SYSTEMS, without=CAUSES)
@QUIET
def test_no_engine_does_two_things_at_once(
    registry: Any, recorded: Callable[..., Recorded], body: str, where: str, without: Without
) -> None:
    made = schedule(recorded(body, where).program, Pace(CostTable(registry.system(where))), without=without)
    last: dict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for number, op in enumerate(made.program.op):
        queue = queue_of(made.program.ops[op])
        issued, ended = last[queue]
        assert issued <= made.start[number] <= made.issued[number] <= made.end[number]
        assert ended <= made.end[number]  # a queue completes in order
        last[queue] = made.issued[number], made.end[number]
    _triggers_take_their_turn(made)
    _adds_up(made)


def _triggers_take_their_turn(made: Schedule) -> None:
    """In an engine's queue: behind what was there before, ahead of what comes; GpSimd does nothing beside."""
    begun = {SCALAR: 0, GPSIMD: 0}
    held, free = dict(begun), dict(begun)
    for number, op in enumerate(made.program.op):
        queue = queue_of(made.program.ops[op])
        engine = {SCALAR_RING: SCALAR, GPSIMD_RING: GPSIMD}.get(queue, queue)
        if engine not in begun:
            continue
        start, issued = made.start[number], made.issued[number]
        assert start >= begun[engine]  # in order
        assert start >= held[engine]  # no trigger of it is being given
        if engine == GPSIMD:
            assert start >= free[engine]
        begun[engine], free[engine] = start, issued
        if engine != queue:
            held[engine] = issued


def _adds_up(made: Schedule) -> None:
    assert made.total == max(made.end, default=0)
    assert made.total >= max(made.busy.values(), default=0)
    assert sum(path_of(made).values()) == made.total


@given(rounds=st.integers(8, 40), width=st.sampled_from([512, 2048, 8192]), where=SYSTEMS)
@QUIET
def test_tiles_never_hold_more_than_there_is(
    registry: Any, recorded: Callable[..., Recorded], rounds: int, width: int, where: str
) -> None:
    """At every moment, over tiles from the start of their first use to the end of their last."""
    body = (
        f"for i in nl.affine_range({rounds}):\n    a = fetch(x, 0, {width})\n    b = tile({width})\n"
        "    nisa.activation(dst=b, op=nl.exp, data=a)\n    nisa.dma_copy(dst=x[0:128, 0:64], src=b[:, 0:64])"
    )
    capacity = 5 * width * 4
    found = recorded(body, where, sbuf_partition_bytes=capacity)
    made = schedule(found.program, Pace(CostTable(registry.system(where))))
    spans: dict[int, list[int]] = {}
    for number, (reads, writes) in enumerate(found.touched):
        for life, size, *_ in (*reads, *writes):
            if size:
                span = spans.setdefault(id(life), [made.start[number], 0, size])
                span[1] = max(span[1], made.end[number])
    assert len(spans) == 2 * rounds
    for moment, *_ in spans.values():
        held = sum(size for start, end, size in spans.values() if start <= moment < end)
        assert held <= capacity


@given(body=kernels(), faster=st.floats(1.0, 8.0))
@QUIET
def test_more_bandwidth_is_never_slower(
    registry: Any, scale: Any, recorded: Callable[..., Recorded], body: str, faster: float
) -> None:
    """On a core whose tensor engine does not cool down while it waits."""
    system = registry.system(TRN1)
    program = recorded(body, TRN1).program
    before = schedule(program, Pace(CostTable(system)))
    quick = scale(system, faster, "hbm_bandwidth", dma=faster)
    assert schedule(program, Pace(CostTable(quick))).total <= before.total
