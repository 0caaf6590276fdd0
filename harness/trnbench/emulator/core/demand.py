"""What one core has to do for a case: seconds per engine, bytes per memory. The roofline's input."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from trnbench.emulator.core.costs import ENGINES, CostTable
from trnbench.emulator.core.recorded import Recording
from trnbench.kernels.case import Case
from trnbench.kernels.work import Work
from trnbench.nki.instruction import DMA
from trnbench.peaks.engine import engine_rate


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """Of one core. `engines`: seconds each is busy. `dma_s`: seconds its DMA engines are busy.

    `hbm_bytes` is what it moves. `fill_s`: how long the first transfer
    takes to begin, and the last; nothing overlaps them. `lead_s`: how long those two take, which
    only an engine waits for: to the DMA engines they are part of their own work. `how`: the way it
    was found.
    """

    engines: Mapping[str, float]
    dma_s: float = 0.0
    hbm_bytes: float = 0.0
    fill_s: float = 0.0
    lead_s: float = 0.0
    how: str = ""
    notes: tuple[str, ...] = ()
    counters: Mapping[str, float] = {}


def of_recording(found: Recording, table: CostTable) -> Demand:
    """Engine sums over the recorded instructions."""
    engines = dict.fromkeys(ENGINES, 0.0)
    dma = hbm = largest = 0.0
    flops = 0
    instructions: dict[str, float] = {}
    for op, count in found.tally.items():
        seconds = table.seconds(op) * count
        instructions[f"{op.engine}_instructions"] = instructions.get(f"{op.engine}_instructions", 0) + count
        flops += op.flops * count
        if op.engine == DMA:
            dma += seconds
            largest = max(largest, table.seconds(op))
            hbm += count * (op.traffic.get("hbm_read", 0) + op.traffic.get("hbm_write", 0))
        else:
            engines[op.engine] += seconds
    return Demand(
        engines={name: seconds for name, seconds in engines.items() if seconds},
        dma_s=dma,
        hbm_bytes=hbm,
        fill_s=2 * table.transfers.start_s if dma else 0.0,
        lead_s=2 * largest,
        how=found.how,
        counters={
            **instructions,
            "tensor_flops": float(flops),
            "hbm_bytes": hbm,
            "recorded_calls": found.calls,
        },
    )


def of_work(case: Case, table: CostTable) -> Demand:
    """From the kernel's own FLOP and byte formula, for kernels without a recording."""
    extent = case.extent
    work = case.kernel.work(case.key.point, extent)
    share = 1.0 / max(extent.cores, 1)
    engines = {name: n * share / (table.lanes * table.clock(name)) for name, n in work.engine_flops.items()}
    if work.flops:
        engines["tensor"] = _tensor(case, work, table) * share
    hbm = work.bytes.get("hbm", 0.0) * share
    run = table.stream_run
    return Demand(
        engines=engines,
        dma_s=table.stream(hbm, run),
        hbm_bytes=hbm,
        fill_s=2 * table.transfers.start_s if hbm else 0.0,
        # The first and the last tile: a run on every partition.
        lead_s=2 * table.stream(min(hbm / 2, run * table.lanes), run),
        how="from the work formula",
        counters={"hbm_bytes": hbm},
    )


def _tensor(case: Case, work: Work, table: CostTable) -> float:
    """Seconds of the tensor engine at the data type's rate; edges of matrices fill whole tiles."""
    sparse = case.primary.sparse
    rate = engine_rate(table.system, case.key.dtype or "bf16", sparse)
    if rate is None:
        raise table.missing_rate(case.key.dtype, sparse)
    return work.flops * padding(case, table.lanes) / rate.value


def padding(case: Case, tile: float) -> float:
    """How much larger a matrix product becomes when M and K fill whole tiles; 1 for other kernels."""
    point = case.key.point
    if case.kernel.family != "gemm":
        return 1.0
    sides = [point.get(name, point.get("size")) for name in ("m", "k")]
    factor = 1.0
    for side in sides:
        if isinstance(side, int) and side > 0:
            factor *= math.ceil(side / tile) * tile / side
    return factor
