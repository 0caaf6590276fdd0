"""Adding while copying: what a DMA engine that computes is worth beside the vector engine."""

from __future__ import annotations

from collections.abc import Iterator

from trnbench import Axis, Extent, Kernel, Point, PrimaryMetric, Scope, Statement, Work, needs, per_core

MIB = 1 << 20


def _work(point: Point, extent: Extent) -> Work:
    size = float(point["size"]) * extent.cores
    return Work(
        bytes={"hbm": 3 * size, "sbuf": 3 * size},
        formula=per_core("hbm_bytes = 3·size: two arrays read, their sum written", extent),
    )


def kernels() -> Iterator[Kernel]:
    """dma_accumulate."""
    yield Kernel(
        name="dma_accumulate",
        family="dma",
        title="Sums made by DMA engines",
        about="Does a DMA engine that adds while it copies keep the rate of a copy?",
        axes=(
            Axis(
                name="added_by",
                kind="str",
                values=("dma", "vector"),
                choices=("dma", "vector"),
                about="who adds: the DMA engines on the way, or the vector engine once both have arrived",
            ),
            Axis(name="dtype", kind="str", values=("bf16",), choices=("bf16", "fp32"), about="of the arrays"),
            Axis(name="size", unit="B", values=(16 * MIB,), least=1 << 14, about="bytes of one array"),
        ),
        scopes=(Scope.CORE, Scope.DEVICE, Scope.INSTANCE),
        default_scopes=(Scope.CORE,),
        primary=PrimaryMetric(name="hbm_bytes_per_s", unit="B/s", count="hbm_bytes", peak="hbm_bandwidth"),
        work=_work,
        footprint=lambda point, _: {"hbm": 3.0 * float(point["size"])},
        requires=lambda point: (*needs(point["dtype"], "dma_copy", "dma_compute", "tensor_tensor"),),
        tags=("memory", "dma", "bandwidth"),
        implementations={"nki": "trnbench_trn3.nki.accumulate:accumulate"},
        tests=(
            Statement(
                source="nki-arch-v4",
                locator="DMA engines",
                says="accumulating into SBUF goes at the rate of a copy, on earlier cores at half of it",
            ),
        ),
    )
