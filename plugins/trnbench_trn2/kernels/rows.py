"""Double rows: two 8-bit floats of the contraction in one row of the tensor engine's array."""

from __future__ import annotations

from collections.abc import Iterator

from trnbench import Axis, Extent, Kernel, Point, PrimaryMetric, Scope, Statement, Work, needs, per_core

LANES = 128  # rows and columns of the array
_DEPTH = {"single": 1, "double": 2}


def _work(point: Point, extent: Extent) -> Work:
    many = int(point["instructions"]) * extent.cores
    contraction = LANES * _DEPTH[str(point["rows"])]
    return Work(
        flops=2.0 * contraction * LANES * int(point["columns"]) * many,
        instructions=float(many),
        formula=per_core(f"flops = 2·{contraction}·{LANES}·columns·instructions, operands on chip", extent),
    )


def kernels() -> Iterator[Kernel]:
    """tensor_rows."""
    yield Kernel(
        name="tensor_rows",
        family="engine",
        title="Products of fp8 in single and in double rows",
        about="Does a row that takes two 8-bit floats double the array's rate?",
        axes=(
            Axis(
                name="rows",
                kind="str",
                values=("single", "double"),
                choices=("single", "double"),
                about="128 rows of the contraction in one product, or 256",
            ),
            Axis(name="dtype", kind="str", values=("fp8",), choices=("fp8",), about="of both tiles"),
            Axis(name="columns", values=(512,), about="of the moving tile"),
            Axis(name="instructions", values=(1024,), about="products, one behind the other"),
        ),
        scopes=(Scope.CORE, Scope.DEVICE, Scope.INSTANCE),
        default_scopes=(Scope.CORE,),
        primary=PrimaryMetric(name="flops_per_s", unit="FLOP/s", count="flops", peak="peak_flops"),
        work=_work,
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
