"""What a kernel's counts are of each peak at the same scope."""

from __future__ import annotations

from collections.abc import Iterator

from trnbench.errors import UsageError
from trnbench.facts.fact import PeakChoice, PeakPolicy, Scope
from trnbench.generation import System
from trnbench.kernels.work import Extent
from trnbench.peaks import choose_peak
from trnbench.peaks.candidate import once_for_system
from trnbench_emulator.core.program import QUEUES
from trnbench_emulator.core.recording import Recording
from trnbench_emulator.kernel_run.result import Share
from trnbench_emulator.nki.op import DMA, TENSOR


def shares_of(system: System, extent: Extent, policy: PeakPolicy, recording: Recording) -> Iterator[Share]:
    """Of what was used and has a peak, as if it took a second: which peak a kernel comes closest to does not
    depend on the time. All launches of the scope do the same.
    """
    rate = extent.cores / len(recording.programs)
    work = recording.work()
    for engine, dtype in sorted(work, key=lambda each: (QUEUES.index(each[0]), each[1])):
        # The documents count elements and cycles, and multiply by operations as they see fit: elements are
        # what a kernel's instructions have, held against what the clocks allow.
        if engine == TENSOR:
            unit, choice = "FLOP/s", _peak(system, "peak_flops", dtype, "", extent, policy)
        else:
            unit = "element/s"
            choice = _peak(system, "element_rate", "", engine, extent, PeakPolicy.ENGINE)
        if choice is not None:
            what = f"{engine} {dtype}".strip()
            yield Share(what=what, value=work[engine, dtype] * rate, unit=unit, choice=choice)
    moved = recording.traffic()
    hbm = moved.get("hbm_read", 0) + moved.get("hbm_write", 0)
    tally = recording.tally().items()
    dma = sum(op.variables.get("bytes", 0) * count for op, count in tally if op.engine == DMA)
    for what, amount in (("hbm", hbm), ("dma", dma)):
        choice = _peak(system, f"{what}_bandwidth", "", "", extent, policy) if amount else None
        if choice is not None:
            yield Share(what=what, value=amount * rate, unit="B/s", choice=choice)


@once_for_system
def _peak(
    system: System, metric: str, dtype: str, engine: str, extent: Extent, policy: PeakPolicy
) -> PeakChoice | None:
    """None where no document gives it."""
    return choose_peak(
        system,
        metric=metric,
        scope=extent.scope,
        dtype=dtype,
        qualifier=engine,
        extent=extent,
        policy=policy,
    )


def extent_of(system: System, cores: str, programs: int = 1) -> Extent:
    """`core`, `logical-core`, `device` or `instance`: the whole system, be it an instance or more.

    It is full of launches of `programs` cores each; `core` is one launch alone. Raises `UsageError` where
    there are no logical cores, or a launch takes more.
    """
    if cores == "core" and programs > 1:
        logical = min(system.logical_cores, system.cores_per_device)
        cores = "logical-core" if programs == logical else "device"
    extent = _extent_of(system, cores)
    if extent.cores < programs:
        raise UsageError(
            f"a launch of {programs:,} programs does not fit into --cores {cores}",
            cause=f"each program runs on a core, and there are {extent.cores:,}",
            try_="--cores device",
        )
    return extent


def _extent_of(system: System, cores: str) -> Extent:
    if cores == "core":
        return Extent(scope=Scope.CORE)
    if cores == "logical-core":
        if why := system.lacks_logical_cores():
            raise UsageError(f"no logical core runs it on {system.name}", cause=why, try_="--cores core")
        return Extent(scope=Scope.LOGICAL_CORE, cores=min(system.logical_cores, system.cores_per_device))
    if cores == "device":
        return Extent(scope=Scope.DEVICE, cores=system.cores_per_device)
    return Extent(
        scope=system.instance.scope,
        cores=system.devices * system.cores_per_device,
        devices=system.devices,
        hosts=system.hosts,
    )
