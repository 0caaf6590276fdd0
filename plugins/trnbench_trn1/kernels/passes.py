"""Products of fp32: four passes of the array, or three products of halves that a kernel makes itself."""

from __future__ import annotations

from collections.abc import Iterator

from trnbench import Axis, Extent, Kernel, Point, PrimaryMetric, Scope, Statement, Work, needs, per_core

LANES = 128  # rows and columns of the array
_PRODUCTS = {"array": 1, "bf16-halves": 3}
"""Instructions of one product: upper · upper, upper · lower and lower · upper of two bf16 numbers each."""


def _work(point: Point, extent: Extent) -> Work:
    many = int(point["products"]) * extent.cores
    product = _PRODUCTS[str(point["by"])]
    elements = float(LANES * int(point["columns"]) * many)
    return Work(
        flops=2.0 * LANES * product * elements,
        elements=elements,
        instructions=float(product * many),
        formula=per_core(
            f"elements = {LANES}·columns·products; flops = {product}·2·{LANES} for each, as multiplied",
            extent,
        ),
    )


def kernels() -> Iterator[Kernel]:
    """fp32_passes."""
    yield Kernel(
        name="fp32_passes",
        family="engine",
        title="Products of fp32 by the array, and of their bf16 halves",
        about="Does fp32 cost less as three products of bf16 halves than by the array's four passes?",
        axes=(
            Axis(
                name="by",
                kind="str",
                values=("array", "bf16-halves"),
                choices=("array", "bf16-halves"),
                about="fp32 operands, or each split into an upper and a lower bf16 number beforehand",
            ),
            Axis(name="dtype", kind="str", values=("fp32",), choices=("fp32",), about="of both operands"),
            Axis(name="columns", values=(512,), about="of the moving tile"),
            Axis(name="products", values=(512,), about="one behind the other"),
        ),
        scopes=(Scope.CORE, Scope.DEVICE, Scope.INSTANCE),
        default_scopes=(Scope.CORE,),
        primary=PrimaryMetric(name="elements_per_s", unit="element/s", count="elements"),
        work=_work,
        footprint=lambda point, _: {"sbuf": 3.0 * LANES * (LANES + int(point["columns"])) * 4},
        requires=lambda point: (*needs(point["dtype"], "nc_matmul"),),
        valid=lambda point: "" if int(point["columns"]) <= 512 else "a moving tile has up to 512 columns",
        tags=("compute", "engine", "tensor"),
        implementations={"nki": "trnbench_trn1.nki.passes:fp32_burst"},
        tests=(
            Statement(
                source="isa-cost",
                locator="nc_matmul",
                says="fp32 takes four times the cycles of bf16",
            ),
        ),
    )
