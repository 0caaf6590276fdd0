"""Configurable 8-bit floats: half the bytes of bf16, and what of its rate."""

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

LANES = 128  # rows and columns of the array


def _work(point: Point, extent: Extent) -> Work:
    many = int(point["instructions"]) * extent.cores
    return Work(
        flops=2.0 * LANES * LANES * int(point["columns"]) * many,
        instructions=float(many),
        formula=per_core(f"flops = 2·{LANES}²·columns·instructions, operands on chip", extent),
    )


def kernels() -> Iterator[Kernel]:
    """tensor_cfp8."""
    yield Kernel(
        name="tensor_cfp8",
        family="engine",
        title="Products of configurable 8-bit floats",
        about="Do cFP8 operands multiply any faster than bf16, or do they only take half the memory?",
        axes=(
            Axis(
                name="dtype",
                kind="str",
                values=("cfp8",),
                choices=("cfp8",),
                about="of both tiles, read as E4M3; tensor_throughput has bf16",
            ),
            Axis(name="columns", values=(64, 512), about="of the moving tile"),
            Axis(name="instructions", values=(1024,), about="products, one behind the other"),
        ),
        scopes=(Scope.CORE, Scope.DEVICE, Scope.INSTANCE),
        default_scopes=(Scope.CORE,),
        primary=PrimaryMetric(name="flops_per_s", unit="FLOP/s", count="flops", peak="peak_flops"),
        work=_work,
        footprint=lambda point, _: {
            "sbuf": LANES * (LANES + int(point["columns"])) * item_bytes(point["dtype"])
        },
        requires=lambda point: (*needs(point["dtype"], "nc_matmul"),),
        valid=lambda point: "" if int(point["columns"]) <= 512 else "a moving tile has up to 512 columns",
        tags=("compute", "engine", "tensor"),
        implementations={"nki": "trnbench_trn1.nki.cfp8:cfp8_burst"},
        tests=(
            Statement(
                source="nki-arch-v2",
                locator="tensor engine",
                says="92 TFLOPS of a core for cFP8 as for bf16",
            ),
        ),
    )
