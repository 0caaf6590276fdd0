"""Streams through device memory: the emulator's own read, write and copy, whole, on its scheduler."""

from __future__ import annotations

from trnbench.kernels.work import GIB
from trnbench_emulator import seconds
from trnbench_emulator.core.recording import Launch
from trnbench_fidelity.bench import Bench
from trnbench_fidelity.point import NotEmulated, Prediction, PublishedPoint, Quantity
from trnbench_fidelity.probes import launch_of, timed

STREAMS = "trnbench_kernels.nki.streams"
SUITE_SIZE = 8 * GIB
"""Bytes each core streams where the point says only that it is the suite's usual size."""
RUN_BYTES = 16384
"""A partition's share of a transfer where the point does not say; rates do not change beyond 4 KiB."""
_PASSES = {"hbm_read": 1, "hbm_write": 1, "hbm_copy": 2}


def predict(point: PublishedPoint, bench: Bench) -> Prediction:
    """Bytes through HBM per second: both directions of a copy counted, as the points do.

    A time by the clock on the wall has a launch by the host in it, a profile's has none.
    """
    if point.quantity is not Quantity.BANDWIDTH:
        raise NotEmulated(f"a stream has a bandwidth, not {point.quantity}")
    passes = _PASSES.get(point.operation)
    if passes is None:
        raise NotEmulated(f"no model of {point.operation or point.op}")
    system = bench.system(point.system)
    cores = point.number("cores") or 1
    size = point.number("bytes_per_core") or point.number("bytes") or SUITE_SIZE
    if cores not in (1, system.cores_per_device):
        raise NotEmulated(f"{cores} cores are neither one core nor one device")
    rows, run = int(bench.table(point.system).lanes), point.number("bytes_per_partition") or RUN_BYTES
    chunks, rest = divmod(size, rows * run)
    if rest:
        raise NotEmulated(f"{size:,} B are no whole transfers of {rows} × {run:,} B")
    shape = ((chunks, rows, run // 4), "float32")
    timing = timed(
        f"{STREAMS}:{point.operation}", (shape,), bench, point.system, Launch(cores=cores, explain=False)
    )
    launch, launched = launch_of(point, bench)
    time_s = seconds(timing.total) + launch
    bound = max(timing.busy_s, key=lambda name: (timing.busy_s[name], name))
    return Prediction(
        value=passes * size * cores / time_s,
        how=f"{point.operation} of {size:,} B per core on {cores} of {point.system}, {bound}-bound"
        + (f", {launched}" if launched else ""),
    )
