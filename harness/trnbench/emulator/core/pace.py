"""What an operation takes on one core, in whole picoseconds, with causes that can be taken away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from trnbench.emulator.core.costs import CostTable
from trnbench.emulator.core.program import QUEUES, Program, queue_of
from trnbench.nki.instruction import DMA, Op
from trnbench.peaks.engine import engine_rate

TICKS = 1_000_000_000_000
"""Per second: one tick is a picosecond."""

LATENCY_FITS = {"tensor": "tensor.latency_ns", "vector": "vector.fixed_ns", "scalar": "scalar.fixed_ns"}


class Without(msgspec.Struct, frozen=True, kw_only=True):
    """Causes of lost time that an emulation leaves out. `queues`: whose instructions take no time."""

    throttle: bool = False
    exclusions: bool = False
    buffers: bool = False
    start: bool = False  # of a DMA transfer
    latency: bool = False  # of an instruction, beyond its turn
    order: bool = False  # operands: everything may overlap
    queues: frozenset[str] = frozenset()
    hbm: bool = False


class Step(msgspec.Struct, frozen=True):
    """Of one op, in ticks. `issue`: until its queue takes the next. `latency`: from then to its end.

    A transfer instead keeps `engines` DMA engines busy for `issue` each, and the memory for `hbm`.
    """

    queue: int
    issue: int
    latency: int
    engines: int = 0
    hbm: int = 0
    sbuf: bool = False
    psum: bool = False


class Throttle(msgspec.Struct, frozen=True):
    slow: int  # an instruction takes this many times as long, in 1/1000, while the engine warms up
    ramp: int
    window: int
    rearm: int  # busy ticks of a window below which it cools down


class Pace:
    """Ticks of each op on the core of `table`'s system, of `sharing` cores that use one memory."""

    def __init__(self, table: CostTable, *, sharing: int = 1) -> None:
        self.table = table
        self.sharing = sharing
        self.engines = int(table.dma_entry("engines_per_core"))
        self.dma_start = round(table.dma_start_s * TICKS)
        self.reach = int(table.dma.get("partitions_per_engine", 1))
        self.throttle = _throttle(table.system.costs.get("throttle"))
        self.exclusions = _exclusions(table.system.costs.get("exclusions", ()))
        fixed = {name: table.fits.get(fit) for name, fit in LATENCY_FITS.items()}
        self.latencies = {name: float(fit["value"]) * 1e-9 for name, fit in fixed.items() if fit}

    def key(self, program: Program) -> tuple[Any, ...]:
        """Equal for machines on which `program` takes the same time for the same reasons."""
        whole = Without()
        book = self.table.system.book
        rates = [engine_rate(self.table.system, op.dtype) for op in program.ops if op.flops]
        return (
            tuple(self.step(op, whole) for op in program.ops),
            tuple(rate.value if rate else 0.0 for rate in rates),
            tuple((name, each.value, each.printed) for name, each in sorted(book.assumptions.items())),
            (self.engines, self.throttle, self.exclusions),
        )

    def step(self, op: Op, without: Without) -> Step:
        table, queue = self.table, queue_of(op)
        free = QUEUES[queue] in without.queues
        if op.engine != DMA:
            issue = 0 if free else _ticks(table.seconds(op))
            latency = 0.0 if free or without.latency else self.latencies.get(op.engine, 0.0)
            memories = op.traffic
            return Step(
                queue,
                issue,
                _ticks(latency),
                sbuf="sbuf_read" in memories or "sbuf_write" in memories,
                psum="psum_read" in memories or "psum_write" in memories,
            )
        engines = min(self.engines, max(1, -(-int(op.variables["P"]) // self.reach)))
        if "hbm" in (op.variables.get("src"), op.variables.get("dst")) and op.variables["P"] == 1:
            engines = self.engines  # rows of HBM are no partitions: descriptors spread over all engines
        share = 0 if free else _ticks(table.seconds(op) * self.engines / engines)
        moved = op.traffic.get("hbm_read", 0) + op.traffic.get("hbm_write", 0)
        hbm = 0 if without.hbm else _ticks(moved * self.sharing / table.hbm_rate)
        start = 0 if free or without.start else self.dma_start
        return Step(queue, share, start, engines, hbm)


def _ticks(seconds: float) -> int:
    """Rounded up: rounding never makes a result faster than its parts."""
    from math import ceil

    return ceil(round(seconds * TICKS, 3))


def _throttle(found: Mapping[str, Any] | None) -> Throttle | None:
    if not found:
        return None
    window = round(float(found["window_us"]) * 1_000_000)
    return Throttle(
        slow=round(1000 / float(found["start_utilisation"])),
        ramp=round(float(found["ramp_us"]) * 1_000_000),
        window=window,
        rearm=round(window * float(found["rearm_below"])),
    )


def _exclusions(rows: Any) -> tuple[tuple[str, int, int], ...]:
    """(memory, queue, queue) that never use it together. Those with a condition are not modelled."""
    found = []
    for row in rows:
        if not row.get("condition"):
            one, other = (QUEUES.index(name) for name in row["engines"])
            found.append((str(row["memory"]), one, other))
    return tuple(found)
