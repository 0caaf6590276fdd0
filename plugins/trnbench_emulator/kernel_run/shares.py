"""What a kernel's counts are of each peak at the same scope."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trnbench.errors import UsageError
from trnbench.facts.fact import PeakChoice, PeakPolicy, Scope
from trnbench.generation import System
from trnbench.kernels.work import Extent
from trnbench.peaks import choose_peak
from trnbench.peaks.candidate import once_for_system

LANES = ("vector", "scalar", "gpsimd")
_ALONE = {"hbm_read", "hbm_write"}


def shares_of(
    system: System,
    extent: Extent,
    policy: PeakPolicy,
    *,
    flops: Mapping[str, float],
    elements: Mapping[str, float],
    moved: Mapping[str, float],
    dma_bytes: float,
    latency_s: float,
) -> Iterator[tuple[str, float, str, PeakChoice]]:
    """(what, rate of the whole scope, unit, peak), for what was used and has a peak.

    The counts are of one core: `flops` of the tensor engine by data type, `elements` of the other
    engines, `moved` bytes by memory and direction. All cores do the same in `latency_s`.
    """

    def peak(metric: str, dtype: str = "") -> PeakChoice | None:
        return _peak(system, metric, dtype, extent, policy)

    rate = extent.cores / latency_s
    for dtype, count in sorted(flops.items()):
        choice = peak("peak_flops", dtype) if count else None
        if choice is not None:
            yield f"tensor {dtype}", count * rate, "FLOP/s", choice
    for engine in LANES:
        choice = lanes(system, engine, extent) if elements.get(engine) else None
        if choice is not None:
            yield engine, elements[engine] * rate, "element/s", choice
    hbm = sum(count for name, count in moved.items() if name in _ALONE)
    choice = peak("hbm_bandwidth") if hbm else None
    if choice is not None:
        yield "hbm", hbm * rate, "B/s", choice
    choice = peak("dma_bandwidth") if dma_bytes else None
    if choice is not None:
        yield "dma", dma_bytes * rate, "B/s", choice


@once_for_system
def _peak(system: System, metric: str, dtype: str, extent: Extent, policy: PeakPolicy) -> PeakChoice | None:
    return choose_peak(system, metric=metric, scope=extent.scope, dtype=dtype, extent=extent, policy=policy)


@once_for_system
def lanes(system: System, engine: str, extent: Extent) -> PeakChoice | None:
    """The bound of an engine's elements per second; None where no document gives lanes and clock.

    The documents count elements and cycles, and multiply by operations as they see fit: elements are
    what a kernel's instructions have.
    """
    return choose_peak(
        system,
        metric="element_rate",
        scope=extent.scope,
        qualifier=engine,
        extent=extent,
        policy=PeakPolicy.ENGINE,
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
