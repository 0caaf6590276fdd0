"""DMA: descriptors on one engine, transfers of many, and how their rate depends on size."""

from __future__ import annotations

from typing import Any

from trnbench_emulator import seconds
from trnbench_emulator.core.pace import Pace, Without
from trnbench_emulator.core.recording import Launch
from trnbench_fidelity.bench import Bench
from trnbench_fidelity.point import NotEmulated, Prediction, PublishedPoint, Quantity
from trnbench_fidelity.probes import timed

TRANSFERS = "trnbench_kernels.nki.probes:transfers"
SATURATING = 32768  # bytes per partition to which the vendor's curve is relative
IN_A_ROW = 32  # transfers of a point that gives a sustained rate
RUNS = 2  # descriptors of a partition, and twice as many: the difference is that of single descriptors


def predict(point: PublishedPoint, bench: Bench) -> Prediction:
    """A time, a rate, or a share of the rate of large transfers, as the point asks.

    Times begin with the first byte, as those of a profile's DMA tables do; a rate is that of a whole kernel
    of transfers, from its first trigger on: the bytes and the time that such profiles print give it.
    """
    if point.operation in ("descriptor", "packets"):
        return _descriptors(point, bench)
    if point.operation not in ("transfer", "transfer_share"):
        raise NotEmulated(f"no model of {point.operation or point.op}")
    run, rows = point.number("bytes_per_partition"), point.number("partitions")
    if run is None or rows is None:
        raise NotEmulated("the transfer is not stated")
    if point.operation == "transfer_share":
        one, large = (_seconds(point, bench, rows, 1, size) for size in (run, SATURATING))
        return Prediction(
            value=run / one / (SATURATING / large),
            how=f"one transfer alone at {run} B over one at {SATURATING} B per partition",
        )
    what = f"{rows} descriptors of {run} B"
    if point.quantity is Quantity.LATENCY:
        return Prediction(value=_seconds(point, bench, rows, 1, run), how=f"one transfer alone of {what}")
    time_s = _seconds(point, bench, rows, 1, run, count=IN_A_ROW, whole=True)
    return Prediction(
        value=IN_A_ROW * rows * run / time_s, how=f"{IN_A_ROW} transfers of {what}, one behind the other"
    )


def _descriptors(point: PublishedPoint, bench: Bench) -> Prediction:
    """One of many on one engine, or one transfer of so many."""
    size = point.number("bytes")
    if size is None or point.quantity is not Quantity.LATENCY:
        raise NotEmulated("the bytes of a descriptor are not stated")
    rows = bench.table(point.system).transfers.reach
    if point.operation == "packets":
        count = point.number("descriptors") or 1
        # The kernel it is told of works on as many partitions as one engine reaches.
        return Prediction(
            value=_seconds(point, bench, rows, -(-count // rows), size),
            how=f"one transfer alone of {count} descriptors of {size} B on one engine",
        )
    fewer, more = (_seconds(point, bench, rows, runs, size, hidden=True) for runs in (RUNS, 2 * RUNS))
    return Prediction(
        value=(more - fewer) / (rows * RUNS),
        how=f"what another descriptor of {size} B adds on one engine, latency hidden by other transfers",
    )


def _seconds(
    point: PublishedPoint,
    bench: Bench,
    rows: int,
    runs: int,
    size: int,
    *,
    count: int = 1,
    hidden: bool = False,
    whole: bool = False,
) -> float:
    """From the first byte of `count` loads of `runs` × `size` bytes on `rows` partitions to the last.

    `hidden`: without the latency of a transfer, which those behind it fill. `whole`: from the first trigger.
    """
    # Twice as far apart as they are long, unless one is all there is of a row.
    apart = size if runs == 1 else 2 * size
    source: Any = ((count, rows, runs, apart), "uint8")
    launch = Launch(explain=False, without=Without(start=hidden))
    made = timed(TRANSFERS, (source, size), bench, point.system, launch).schedule
    waited = 0 if hidden or whole else Pace(bench.table(point.system)).dma_start
    return seconds(made.total - made.start[0] - waited)
