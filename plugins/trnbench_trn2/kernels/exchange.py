"""The two cores of a logical core handing each other a tile: `nisa.sendrecv`."""

from __future__ import annotations

from collections.abc import Iterator

from trnbench import (
    Axis,
    Extent,
    Kernel,
    Point,
    PrimaryMetric,
    Scope,
    Spread,
    Statement,
    Work,
    per_core,
)

PARTITIONS = 128
MOST_THROUGH_GPSIMD = 1024
"""Bytes of a partition that GpSimd's own DMA takes of 32-bit elements at once."""


def _work(point: Point, extent: Extent) -> Work:
    sent = float(PARTITIONS * int(point["bytes_per_partition"]) * int(point["exchanges"]))
    return Work(
        bytes={"sbuf": sent * extent.cores},
        formula=per_core(f"sbuf_bytes = {PARTITIONS}·bytes_per_partition·exchanges, sent by a core", extent),
    )


def _refused(point: Point) -> str:
    if point["through"] == "gpsimd" and int(point["bytes_per_partition"]) > MOST_THROUGH_GPSIMD:
        return f"GpSimd's own DMA takes up to {MOST_THROUGH_GPSIMD:,} bytes of a partition at once"
    return "" if int(point["bytes_per_partition"]) % 4 == 0 else "an element has four bytes"


def kernels() -> Iterator[Kernel]:
    """core_exchange."""
    yield Kernel(
        name="core_exchange",
        family="dma",
        title="Tiles handed to and fro by the cores of a logical core",
        about="When is GpSimd's own DMA the quicker way from one core of a logical core to the other?",
        axes=(
            Axis(
                name="through",
                kind="str",
                values=("dma", "gpsimd"),
                choices=("dma", "gpsimd"),
                about="the core's DMA engines, or the DMA built into GpSimd",
            ),
            Axis(
                name="bytes_per_partition",
                unit="B",
                values=(256, 1024),
                about="contiguous bytes on each of 128 partitions",
            ),
            Axis(name="exchanges", values=(64,), about="each of what the one before brought"),
        ),
        spread=Spread.SHARED,
        scopes=(Scope.LOGICAL_CORE,),
        primary=PrimaryMetric(name="exchange_bytes_per_s", unit="B/s", count="sbuf_bytes"),
        work=_work,
        footprint=lambda point, _: {"sbuf": 2.0 * PARTITIONS * int(point["bytes_per_partition"])},
        requires=lambda _: ("instruction:sendrecv",),
        valid=_refused,
        tags=("memory", "dma", "programs"),
        implementations={"nki": "trnbench_trn2.nki.exchange:exchange"},
        tests=(
            Statement(
                source="nki-arch-v3",
                locator="DMA inside GpSimd",
                says="GpSimd's own DMA moves 153 GB/s in each direction",
            ),
        ),
    )
