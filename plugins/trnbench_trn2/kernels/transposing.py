"""Transposing on the way: `nisa.dma_transpose`, out of device memory and within SBUF."""

from __future__ import annotations

from collections.abc import Iterator

from trnbench import (
    Axis,
    Extent,
    Kernel,
    Point,
    PrimaryMetric,
    Scope,
    Statement,
    Work,
    item_bytes,
    needs,
    per_core,
)

SIDE = 128  # rows and columns of a tile
_TILES = 33  # one that is read on chip, 32 that are written in turn


def _work(point: Point, extent: Extent) -> Work:
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


def kernels() -> Iterator[Kernel]:
    """dma_transpose."""
    yield Kernel(
        name="dma_transpose",
        family="dma",
        title="Transposing transfers",
        about="What of a copy's rate is left when DMA engines transpose, from device memory or within SBUF?",
        axes=(
            Axis(
                name="by",
                kind="str",
                values=("copy", "transpose"),
                choices=("copy", "transpose"),
                about="the same tiles as they are, or transposed",
            ),
            Axis(
                name="memory",
                kind="str",
                values=("hbm", "sbuf"),
                choices=("hbm", "sbuf"),
                about="where the operand lies; the result lies in SBUF",
            ),
            Axis(name="dtype", kind="str", values=("bf16",), choices=("bf16", "fp16"), about="in and out"),
            Axis(name="transfers", values=(512,), about="tiles of 128 × 128, one behind the other"),
        ),
        scopes=(Scope.CORE, Scope.DEVICE, Scope.INSTANCE),
        default_scopes=(Scope.CORE,),
        primary=PrimaryMetric(name="dma_bytes_per_s", unit="B/s", count="sbuf_bytes", peak="dma_bandwidth"),
        work=_work,
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
