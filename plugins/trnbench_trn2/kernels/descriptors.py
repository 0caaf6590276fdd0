"""Who makes the descriptors of a transfer: made before it starts, by hardware, or by software."""

from __future__ import annotations

from collections.abc import Iterator

from trnbench import Axis, Extent, Kernel, Point, PrimaryMetric, Scope, Statement, Work, per_core

PARTITIONS = 128


def _moved(point: Point) -> float:
    return float(PARTITIONS * int(point["bytes_per_partition"]))


def _work(point: Point, extent: Extent) -> Work:
    moved = _moved(point) * int(point["transfers"]) * extent.cores
    return Work(
        bytes={"hbm": moved, "sbuf": moved},
        formula=per_core(f"hbm_bytes = {PARTITIONS}·bytes_per_partition·transfers, read into SBUF", extent),
    )


def kernels() -> Iterator[Kernel]:
    """dma_descriptors."""
    yield Kernel(
        name="dma_descriptors",
        family="dma",
        title="Descriptors made before, by hardware or by software",
        about="What does it cost that a transfer's descriptors are made while the kernel runs, and by whom?",
        axes=(
            Axis(
                name="made",
                kind="str",
                values=("before", "hardware", "software"),
                choices=("before", "hardware", "software"),
                about="before the kernel starts, by the hardware block, or by GpSimd",
            ),
            Axis(
                name="bytes_per_partition",
                unit="B",
                values=(512, 4096),
                about="contiguous bytes on each of 128 partitions",
            ),
            Axis(name="transfers", values=(64,), about="transfers in flight one behind the other"),
        ),
        scopes=(Scope.CORE, Scope.DEVICE, Scope.INSTANCE),
        default_scopes=(Scope.CORE,),
        primary=PrimaryMetric(name="dma_bytes_per_s", unit="B/s", count="hbm_bytes", peak="dma_bandwidth"),
        work=_work,
        footprint=lambda point, _: {"hbm": _moved(point), "sbuf": _moved(point)},
        # Where there is no hardware that makes them there is nothing to compare.
        requires=lambda _: ("instruction:dma_copy", "feature:hwdge"),
        tags=("memory", "dma", "latency"),
        implementations={"nki": "trnbench_trn2.nki.descriptors:described"},
        tests=(
            Statement(
                source="nki-dge",
                locator="hardware descriptor generation",
                says="hardware makes the descriptors of a transfer in some 600 ns, which can hide behind the"
                " engine's other work",
            ),
        ),
    )
