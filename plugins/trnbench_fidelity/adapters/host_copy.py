"""Copies over the link between host and device."""

from __future__ import annotations

from trnbench import Extent, Scope
from trnbench_fidelity.bench import Bench
from trnbench_fidelity.point import NotEmulated, Prediction, PublishedPoint


def predict(point: PublishedPoint, bench: Bench) -> Prediction:
    """Bytes per second of one device's copy."""
    size = point.number("bytes")
    if size is None:
        raise NotEmulated("the size of the copy is not stated")
    extent = Extent(scope=Scope.DEVICE, devices=1)
    seen, work = bench.observe(point.operation, point.system, {"size": size}, Scope.DEVICE, extent)
    assert seen.time_s is not None
    return Prediction(
        value=work["host_bytes"] / seen.time_s, how=f"{point.operation} of {size:,} B: {seen.implementation}"
    )
