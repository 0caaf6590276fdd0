"""DMA: single descriptors on one engine, transfers of many, and how their rate depends on size."""

from __future__ import annotations

from trnbench.facts.scope import Scope
from trnbench.fidelity.bench import Bench
from trnbench.fidelity.point import PublishedPoint, Quantity
from trnbench.fidelity.prediction import NotEmulated, Prediction
from trnbench.kernels.extent import Extent

SATURATING = 32768  # bytes per partition to which the vendor's curve is relative


def predict(point: PublishedPoint, bench: Bench) -> Prediction:
    """A time, a rate, or a share of the rate of large transfers, as the point asks."""
    if point.operation in ("descriptor", "packets"):
        return _one_engine(point, bench)
    if point.operation == "transfer":
        run = point.number("bytes_per_partition")
        rows = point.number("partitions")
        if run is None or rows is None:
            raise NotEmulated("the descriptors are not stated")
        return Prediction(
            value=_rate(point, bench, run, rows), how=f"transfers of {rows} descriptors of {run} B, in a row"
        )
    if point.operation == "transfer_share":
        run, rows = point.number("bytes_per_partition"), point.number("partitions")
        if run is None or rows is None:
            raise NotEmulated("the transfer is not stated")
        share = _rate(point, bench, run, rows, 1) / _rate(point, bench, SATURATING, rows, 1)
        how = f"one isolated transfer at {run} B over one at {SATURATING} B per partition"
        return Prediction(value=share, how=how)
    raise NotEmulated(f"no model of {point.operation or point.op}")


def _one_engine(point: PublishedPoint, bench: Bench) -> Prediction:
    """Descriptors one after the other on one engine: their bytes and a fixed time each."""
    size = point.number("bytes")
    if size is None or point.quantity is not Quantity.LATENCY:
        raise NotEmulated("the bytes of a descriptor are not stated")
    count = point.number("descriptors") or 1
    table = bench.table(point.system)
    # `transfer` is the share of all engines of a core; one engine alone takes that many times as long.
    busy = table.transfer({"bytes": float(size * count), "descriptors": count})
    return Prediction(
        value=busy * table.dma_entry("engines_per_core"),
        how=f"{count} descriptor{'s' if count > 1 else ''} of {size} B on one engine by the cost table",
    )


def _rate(point: PublishedPoint, bench: Bench, run: int, rows: int, count: int = 64) -> float:
    axes = {"bytes_per_partition": run, "partitions": rows, "transfers": count}
    seen, work = bench.observe("dma_sweep", point.system, axes, Scope.CORE, Extent(scope=Scope.CORE))
    assert seen.time_s is not None
    # The launch from the host is part of a case, and of no profile.
    fixed = sum(part.seconds for part in seen.parts if part.name == "launch")
    return work["hbm_bytes"] / (seen.time_s - fixed)
