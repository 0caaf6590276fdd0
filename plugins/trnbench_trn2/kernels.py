"""Micro-benchmarks of what starts with Trainium2."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from trnbench import (
    Axis,
    Direction,
    Extent,
    Kernel,
    Point,
    PrimaryMetric,
    Scope,
    Spread,
    Statement,
    Work,
    item_bytes,
    needs,
    per_core,
    word_axis,
)

if TYPE_CHECKING:
    from trnbench import Topology

LANES = 128  # partitions
_SETS = 4  # operands and results that a burst goes round


class Operation(msgspec.Struct, frozen=True):
    """One instruction: tensors it reads, elementary operations per element."""

    reads: int
    flops: int


OPERATIONS = {
    "tensor_copy": Operation(1, 1),
    "tensor_scalar": Operation(1, 2),
    "tensor_tensor": Operation(2, 1),
}


def _mode_work(point: Point, extent: Extent) -> Work:
    operation, item = OPERATIONS[str(point["op"])], item_bytes(point["dtype"])
    many = int(point["instructions"]) * extent.cores
    elements = float(LANES * int(point["elements"]) * many)
    outside = 1 if point["operands"] == "psum" else 0
    inside = operation.reads + 1 - outside
    return Work(
        engine_flops={"vector": operation.flops * elements},
        bytes={"sbuf": inside * item * elements} | ({"psum": item * elements} if outside else {}),
        elements=elements,
        instructions=float(many),
        formula=per_core(
            f"vector_flops = {operation.flops}·{LANES}·elements·instructions; "
            f"sbuf_bytes = {inside}·{item:g} B for each element" + (", one more from PSUM" * outside),
            extent,
        ),
    )


def _mode_footprint(point: Point, _: Extent) -> dict[str, float]:
    tile = LANES * int(point["elements"]) * item_bytes(point["dtype"])
    apart = 2 if point["operands"] == "strided" else 1
    return {"sbuf": _SETS * (OPERATIONS[str(point["op"])].reads + 1) * apart * tile}


def performance_modes() -> Iterator[Kernel]:
    """vector_modes."""
    yield Kernel(
        name="vector_modes",
        family="engine",
        title="Performance modes of the vector engine",
        about="Which operands earn two or four elements per lane and cycle?",
        axes=(
            word_axis("op", "instruction issued back to back", "tensor_copy", choices=tuple(OPERATIONS)),
            word_axis(
                "operands",
                "all in SBUF, all there with a gap after each element, or one of them in PSUM",
                "contiguous",
                "strided",
                "psum",
            ),
            word_axis("dtype", "of all", "bf16", "fp32"),
            Axis(name="elements", values=(512,), about="per partition and instruction"),
            Axis(name="instructions", values=(256,), about="issued one behind the other"),
        ),
        scopes=(Scope.CORE, Scope.DEVICE, Scope.INSTANCE),
        default_scopes=(Scope.CORE,),
        primary=PrimaryMetric(
            name="elements_per_s", unit="element/s", count="elements", peak="element_rate", qualifier="vector"
        ),
        work=_mode_work,
        footprint=_mode_footprint,
        requires=lambda point: (*needs(point["dtype"], str(point["op"])), "feature:performance_modes"),
        valid=lambda point: (
            "" if int(point["elements"]) <= 512 else "four tiles in PSUM have 512 columns each"
        ),
        tags=("compute", "engine", "vector"),
        implementations={"nki": "trnbench_trn2.nki.modes:mode_burst"},
        tests=(
            Statement(
                source="nki-arch-v3",
                locator="performance mode of the vector engine",
                says="16-bit operands go four times as fast, all in SBUF and contiguous, and twice with a"
                " stride or with one of them in PSUM",
            ),
        ),
    )


_DEPTH = {"single": 1, "double": 2}


def _row_work(point: Point, extent: Extent) -> Work:
    many = int(point["instructions"]) * extent.cores
    contraction = LANES * _DEPTH[str(point["rows"])]
    return Work(
        flops=2.0 * contraction * LANES * int(point["columns"]) * many,
        instructions=float(many),
        formula=per_core(f"flops = 2·{contraction}·{LANES}·columns·instructions, operands on chip", extent),
    )


def double_rows() -> Iterator[Kernel]:
    """tensor_rows."""
    yield Kernel(
        name="tensor_rows",
        family="engine",
        title="Products of fp8 in single and in double rows",
        about="Does a row that takes two 8-bit floats double the array's rate?",
        axes=(
            word_axis("rows", "128 rows of the contraction in one product, or 256", "single", "double"),
            word_axis("dtype", "of both tiles", "fp8"),
            Axis(name="columns", values=(512,), about="of the moving tile"),
            Axis(name="instructions", values=(1024,), about="products, one behind the other"),
        ),
        scopes=(Scope.CORE, Scope.DEVICE, Scope.INSTANCE),
        default_scopes=(Scope.CORE,),
        primary=PrimaryMetric(name="flops_per_s", unit="FLOP/s", count="flops", peak="peak_flops"),
        work=_row_work,
        footprint=lambda point, _: {
            "sbuf": float(LANES * _DEPTH[str(point["rows"])] * (LANES + int(point["columns"])))
        },
        requires=lambda point: (*needs(point["dtype"], "nc_matmul"), "feature:double_rows"),
        valid=lambda point: "" if int(point["columns"]) <= 512 else "a moving tile has up to 512 columns",
        tags=("compute", "engine", "tensor"),
        implementations={"nki": "trnbench_trn2.nki.rows:row_burst"},
        tests=(
            Statement(
                source="nki-arch-v3",
                locator="tensor engine, double FP8 mode",
                says="two rows of fp8 at once give twice the throughput of bf16",
            ),
        ),
    )


PARTITIONS = 128
MOST_THROUGH_GPSIMD = 1024
"""Bytes of a partition that GpSimd's own DMA takes of 32-bit elements at once."""


def _exchange_work(point: Point, extent: Extent) -> Work:
    sent = float(PARTITIONS * int(point["bytes_per_partition"]) * int(point["exchanges"]))
    return Work(
        bytes={"sbuf": sent * extent.cores},
        formula=per_core(f"sbuf_bytes = {PARTITIONS}·bytes_per_partition·exchanges, sent by a core", extent),
    )


def _refused(point: Point) -> str:
    if point["through"] == "gpsimd" and int(point["bytes_per_partition"]) > MOST_THROUGH_GPSIMD:
        return f"GpSimd's own DMA takes up to {MOST_THROUGH_GPSIMD:,} bytes of a partition at once"
    return "" if int(point["bytes_per_partition"]) % 4 == 0 else "an element has four bytes"


def exchanges() -> Iterator[Kernel]:
    """core_exchange."""
    yield Kernel(
        name="core_exchange",
        family="dma",
        title="Tiles handed to and fro by the cores of a logical core",
        about="When is GpSimd's own DMA the quicker way from one core of a logical core to the other?",
        axes=(
            word_axis("through", "the core's DMA engines, or the DMA built into GpSimd", "dma", "gpsimd"),
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
        work=_exchange_work,
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


def _moved(point: Point) -> float:
    return float(PARTITIONS * int(point["bytes_per_partition"]))


def _descriptor_work(point: Point, extent: Extent) -> Work:
    moved = _moved(point) * int(point["transfers"]) * extent.cores
    return Work(
        bytes={"hbm": moved, "sbuf": moved},
        formula=per_core(f"hbm_bytes = {PARTITIONS}·bytes_per_partition·transfers, read into SBUF", extent),
    )


def descriptor_counts() -> Iterator[Kernel]:
    """dma_descriptors."""
    yield Kernel(
        name="dma_descriptors",
        family="dma",
        title="Descriptors made before, by hardware or by software",
        about="What does it cost that a transfer's descriptors are made while the kernel runs, and by whom?",
        axes=(
            word_axis(
                "made",
                "before the kernel starts, by the hardware block, or by GpSimd",
                "before",
                "hardware",
                "software",
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
        work=_descriptor_work,
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


SIDE = 128  # rows and columns of a tile
_TILES = 33  # one that is read on chip, 32 that are written in turn


def _transpose_work(point: Point, extent: Extent) -> Work:
    tile = SIDE * SIDE * item_bytes(point["dtype"])
    turned = tile * int(point["transfers"])
    # The last result goes back; operands in SBUF are brought there once.
    outside = tile + (turned if point["memory"] == "hbm" else tile)
    rule = "transfers + 1" if point["memory"] == "hbm" else "2"
    return Work(
        bytes={"sbuf": turned * extent.cores, "hbm": outside * extent.cores},
        formula=per_core(
            f"sbuf_bytes = {SIDE}·{SIDE}·transfers·{item_bytes(point['dtype']):g} B, as they arrive; "
            f"hbm_bytes = {rule} tiles",
            extent,
        ),
    )


def dma_transposes() -> Iterator[Kernel]:
    """dma_transpose."""
    yield Kernel(
        name="dma_transpose",
        family="dma",
        title="Transposing transfers",
        about="What of a copy's rate is left when DMA engines transpose, from device memory or within SBUF?",
        axes=(
            word_axis("by", "the same tiles as they are, or transposed", "copy", "transpose"),
            word_axis("memory", "where the operand lies; the result lies in SBUF", "hbm", "sbuf"),
            word_axis("dtype", "in and out", "bf16", choices=("bf16", "fp16")),
            Axis(name="transfers", values=(512,), about="tiles of 128 × 128, one behind the other"),
        ),
        scopes=(Scope.CORE, Scope.DEVICE, Scope.INSTANCE),
        default_scopes=(Scope.CORE,),
        primary=PrimaryMetric(name="dma_bytes_per_s", unit="B/s", count="sbuf_bytes", peak="dma_bandwidth"),
        work=_transpose_work,
        footprint=lambda point, _: {"sbuf": _TILES * SIDE * SIDE * item_bytes(point["dtype"])},
        requires=lambda point: (*needs(point["dtype"], "dma_transpose"), "feature:transposing_dma"),
        tags=("memory", "dma", "layout"),
        implementations={"nki": "trnbench_trn2.nki.transposing:turned"},
        tests=(
            Statement(
                source="nki-arch-v3",
                locator="DMA transpose",
                says="up to 90 % of the rate of a copy from device memory, up to 50 % within SBUF",
            ),
        ),
    )


KIB, MIB = 1 << 10, 1 << 20


def groups(topology: Topology) -> tuple[tuple[int, ...], ...]:
    """Devices of one place in each instance: the rings of the third dimension."""
    hosts: dict[int, list[int]] = {}
    for device in topology.devices:
        hosts.setdefault(device.host, []).append(device.id)
    return tuple(zip(*hosts.values(), strict=True))


def _gather_work(point: Point, extent: Extent) -> Work:
    size, ranks = float(point["size"]), extent.hosts
    return Work(
        bytes={"payload": size},
        link_bytes=size * (ranks - 1) / ranks,
        formula=f"link_bytes = (n−1)/n·size, n = {ranks} devices of a group, one of each instance",
    )


def gathers() -> Iterator[Kernel]:
    """all_gather_across."""
    yield Kernel(
        name="all_gather_across",
        family="collective",
        title="All-gather between the instances of an UltraServer",
        about="How much of a third dimension's rate does a collective along it alone reach?",
        axes=(
            word_axis("dtype", "of an element", "bf16", choices=("bf16", "fp32")),
            Axis(
                name="size",
                unit="B",
                values=(64 * KIB, 4 * MIB, 256 * MIB),
                about="what a group gathers; a device brings its part",
            ),
        ),
        scopes=(Scope.INSTANCE,),
        spread=Spread.TOGETHER,
        primary=PrimaryMetric(
            name="busbw_bytes_per_s",
            unit="B/s",
            count="link_bytes",
            peak="neuronlink_bandwidth",
            qualifier="inter-instance",
            direction=Direction.ONE_WAY,
            scope=Scope.DEVICE,
        ),
        work=_gather_work,
        footprint=lambda point, extent: {"hbm": float(point["size"]) * (1 + 1 / extent.hosts)},
        requires=lambda point: ("devices:2", "hosts:2", "feature:third_dimension", f"dtype:{point['dtype']}"),
        tags=("fabric", "collective", "groups"),
        implementations={"collective": "all_gather"},
        groups="trnbench_trn2.kernels:groups",
        tests=(
            Statement(
                source="trn2-arch",
                locator="specification table, column Trn2 UltraServer",
                says="256 GB/s for each device between the instances of an UltraServer",
            ),
        ),
    )


def kernels() -> Iterator[Kernel]:
    """In the order in which reports show them."""
    for family in (performance_modes, double_rows, exchanges, descriptor_counts, dma_transposes, gathers):
        yield from family()
