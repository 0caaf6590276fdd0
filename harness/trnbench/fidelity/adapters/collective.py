"""Collectives and messages between ranks, by the emulator's model of the links."""

from __future__ import annotations

from trnbench.fidelity.bench import Bench
from trnbench.fidelity.point import PublishedPoint, Quantity
from trnbench.fidelity.prediction import NotEmulated, Prediction
from trnbench.kernels.extent import Extent

_DTYPES = {"fp32": "fp32", "bf16": "bf16", "fp16": "fp16", "uint8": "int8"}


def predict(point: PublishedPoint, bench: Bench) -> Prediction:
    """Ranks of a point are cores or logical cores; the whole machine takes part or nothing does.

    What the ranks of one device do among themselves is part of the point and not of a model that
    knows devices only; `how` says so.
    """
    system = bench.system(point.system)
    ranks, size = point.number("ranks"), point.number("bytes")
    if ranks is None or size is None:
        raise NotEmulated("ranks and message size are not both stated")
    per_device = _per_device(point, system.cores_per_device)
    whole = system.devices * per_device
    if ranks != whole:
        raise NotEmulated(f"a group of {ranks} ranks; the model takes all {whole} of {system.name} together")
    dtype = _DTYPES.get(point.dtype)
    if dtype is None:
        raise NotEmulated(f"no collective of {point.dtype or point.dtype_printed!r}")
    scope = system.instance.scope
    extent = Extent(
        scope=scope,
        cores=system.devices * system.cores_per_device,
        devices=system.devices,
        hosts=system.hosts,
        ranks=system.devices,
    )
    axes = {"dtype": dtype, "size": size}
    seen, _ = bench.observe(point.operation, point.system, axes, scope, extent)
    assert seen.time_s is not None
    how = f"{point.operation} of {size:,} B over the {system.devices} devices: {seen.implementation}"
    if point.quantity is Quantity.LATENCY:
        return Prediction(value=seen.time_s, how=how)
    if point.quantity is Quantity.BUSBW:
        factor = (2 if point.operation == "all_reduce" else 1) * (ranks - 1) / ranks
        return Prediction(value=factor * size / seen.time_s, how=how)
    raise NotEmulated(f"a collective has a time or a bandwidth, not {point.quantity}")


def _per_device(point: PublishedPoint, cores: int) -> int:
    """Ranks on each device: its cores, or its logical cores of `lnc` physical ones."""
    return cores // (point.number("lnc") or 1)
