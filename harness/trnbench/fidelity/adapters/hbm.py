"""Streams through device memory, by the emulator's own read, write and copy."""

from __future__ import annotations

from trnbench.facts.scope import Scope
from trnbench.fidelity.bench import Bench
from trnbench.fidelity.point import PublishedPoint, Quantity
from trnbench.fidelity.prediction import NotEmulated, Prediction
from trnbench.kernels.extent import Extent
from trnbench.kernels.sweep import GIB

SUITE_SIZE = 8 * GIB
"""Bytes each core streams where the point says only that it is the suite's usual size."""


def predict(point: PublishedPoint, bench: Bench) -> Prediction:
    """Bytes through HBM per second: both directions of a copy counted, as the points do."""
    if point.quantity is not Quantity.BANDWIDTH:
        raise NotEmulated(f"a stream has a bandwidth, not {point.quantity}")
    cores = point.number("cores") or 1
    size = point.number("bytes_per_core") or point.number("bytes") or SUITE_SIZE
    scope = Scope.CORE if cores == 1 else Scope.DEVICE
    if scope is Scope.DEVICE and cores != bench.system(point.system).cores_per_device:
        raise NotEmulated(f"{cores} cores are neither one core nor one device")
    seen, work = bench.observe(
        point.operation, point.system, {"size": size}, scope, Extent(scope=scope, cores=cores)
    )
    assert seen.time_s is not None
    return Prediction(
        value=work["hbm_bytes"] / seen.time_s,
        how=f"{point.operation} of {size:,} B per core on {cores} of {point.system}, {seen.bound}-bound",
    )
