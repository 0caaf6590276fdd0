"""The DMA engines: what a transfer's size does to its rate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trnbench.kernels.axis import Axis
from trnbench.kernels.extent import Extent
from trnbench.kernels.kernel import Kernel, Point, PrimaryMetric
from trnbench.kernels.published import PublishedAs, always, renamed
from trnbench.kernels.sweep import CORE_AND_SYSTEM, EVERY_SCOPE, per_core
from trnbench.kernels.work import Work


def transfer_bytes(point: Point) -> int:
    """Bytes of one transfer: so many on each of so many partitions."""
    return int(point["bytes_per_partition"]) * int(point["partitions"])


def _work(point: Point, extent: Extent) -> Work:
    moved = float(transfer_bytes(point)) * int(point["transfers"]) * extent.cores
    return Work(
        bytes={"hbm": moved, "sbuf": moved},
        formula=per_core("hbm_bytes = bytes_per_partition·partitions·transfers, read into SBUF", extent),
    )


def _footprint(point: Point, _: Extent) -> Mapping[str, float]:
    # Transfers land on the same tile: what is measured is the engines, not the space.
    return {"hbm": float(transfer_bytes(point)), "sbuf": float(transfer_bytes(point))}


def _partitions(point: Point) -> str:
    return "" if int(point["partitions"]) <= 128 else "SBUF has 128 partitions"


def kernels() -> Iterator[Kernel]:
    """dma_sweep."""
    yield Kernel(
        name="dma_sweep",
        family="dma",
        title="DMA transfer size",
        about="Where the fixed cost of a transfer ends and the engines' bandwidth begins.",
        axes=(
            Axis(
                name="bytes_per_partition",
                unit="B",
                values=(64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768),
                wide=(512, 4096, 32768),
                about="contiguous bytes on each partition",
            ),
            Axis(name="partitions", values=(128,), about="partitions a transfer covers; 8 per engine"),
            Axis(name="transfers", values=(64,), about="transfers in flight one behind the other"),
        ),
        scopes=EVERY_SCOPE,
        default_scopes=CORE_AND_SYSTEM,
        primary=PrimaryMetric(name="dma_bytes_per_s", unit="B/s", count="hbm_bytes", peak="dma_bandwidth"),
        work=_work,
        footprint=_footprint,
        requires=lambda _: ("instruction:dma_copy",),
        valid=_partitions,
        tags=("memory", "dma", "latency"),
        implementations={"nki": "trnbench_kernels.nki.streams:dma_sweep"},
        published=PublishedAs(
            group="dma",
            operation=always("transfer"),
            program=always("transfer"),
            sizes=renamed({"bytes_per_partition": "bytes_per_partition", "partitions": "partitions"}),
        ),
    )
