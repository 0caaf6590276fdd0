"""The roofline: the time of a kernel without a source, from the work it declares.

A core takes as long as its busiest engine, its DMA, or its share of device memory: what can overlap does, so
that it is an upper bound of performance. It stands in for no recording.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from trnbench.facts.fact import Peak, Scope
from trnbench.facts.units import percent
from trnbench.generation import System
from trnbench.kernels.kernel import Case
from trnbench.kernels.work import Work
from trnbench.peaks import engine_bound, engine_rate
from trnbench.results.measurement import Part
from trnbench_emulator import nki_sources
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.core.timing import Timing
from trnbench_emulator.estimate import Estimate
from trnbench_emulator.nki.op import TENSOR

TOLERANCE = 1e-3
"""Documents round clocks to two and more digits."""


def beyond_clocks(rates: Iterable[tuple[str, float, Peak | None]]) -> tuple[str, ...]:
    """A sentence for each rate (what, value, bound) that the clocks do not allow."""
    return tuple(
        f"{name} at {percent(value / bound.value)} of what the clocks allow ({bound.formula}); most likely: "
        "the model charges an instruction less than the clocks do"
        for name, value, bound in rates
        if bound is not None and value > bound.value * (1.0 + TOLERANCE)
    )


def doubts_of(timing: Timing, system: System) -> tuple[str, ...]:
    """Why the time of a launch cannot be, of one core on average; nothing where it can."""
    seconds = timing.latency_s * len(timing.programs)
    return beyond_clocks(
        (
            f"{engine} {dtype}".strip(),
            amount / seconds,
            engine_bound(
                system,
                metric="peak_flops" if engine == TENSOR else "element_rate",
                scope=Scope.CORE,
                dtype=dtype,
                qualifier=engine,
            ),
        )
        for (engine, dtype), amount in timing.recording.work().items()
    )


FORMULA = "roofline: max(engines + lead, DMA, device memory) + fill + launch"


def roofline(case: Case, table: CostTable) -> Estimate:
    """Of one core, from the kernel's own FLOP and byte formula.

    Raises `FactError` where a rate is missing.
    """
    extent, work = case.extent, case.work
    share = 1.0 / max(extent.cores, 1)
    engines = {name: n * share / (table.lanes * table.clock(name)) for name, n in work.engine_flops.items()}
    if work.flops:
        engines["tensor"] = _tensor(case, work, table) * share
    hbm = work.bytes.get("hbm", 0.0) * share
    run = table.stream_run
    # How long the first transfer takes to begin, and the last: nothing overlaps them.
    fill = 2 * table.transfers.start_s if hbm else 0.0
    # How long these two take, a run on every partition, which only an engine waits for: to the DMA engines
    # they are part of their own work.
    lead = 2 * table.transfers.stream(min(hbm / 2, run * table.lanes), run)
    overlapping = dict(engines)
    dma = table.transfers.stream(hbm, run)
    if dma:
        overlapping["dma"] = dma
    if hbm:
        # All cores of the device at once: each has its share of the memory's rate.
        overlapping["hbm"] = hbm * extent.cores_of_device / table.hbm_rate
    ends = {name: seconds + (lead if name in engines else 0.0) for name, seconds in overlapping.items()}
    bound = max(ends, key=lambda name: (ends[name], name), default="launch")
    longest = ends.get(bound, 0.0)
    serial = {"fill": fill + (lead if bound in engines else 0.0), "launch": table.launch_s}
    if max(serial.values()) > longest:
        bound = max(serial, key=lambda name: (serial[name], name))
    parts = {**overlapping, **{name: seconds for name, seconds in serial.items() if seconds}}
    return Estimate(
        time_s=longest + fill + serial["launch"],
        parts=tuple(Part(name=name, seconds=seconds) for name, seconds in parts.items()),
        bound=bound,
        implementation="model: roofline from the work formula",
        counters={"hbm_bytes": hbm},
        formula=_summed(case),
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
    factor = 1.0
    for side in (point.get(name, point.get("size")) for name in ("m", "k")):
        if isinstance(side, int) and side > 0:
            factor *= math.ceil(side / tile) * tile / side
    return factor


def _summed(case: Case) -> str:
    work = case.work
    counted = work.formula or ", ".join(work.as_counts())
    declared = "its NKI sources take no such point" if nki_sources(case.kernel) else "it has no NKI source"
    return f"{counted}; {case.kernel.name} declares: {declared}"
