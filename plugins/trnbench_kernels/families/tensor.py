"""Products on operands that stay on chip: how many per second, and how soon one can use another's result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trnbench.kernels.axis import Axis
from trnbench.kernels.dtype import PLAIN, item_bytes, needs
from trnbench.kernels.extent import Extent
from trnbench.kernels.kernel import Kernel, Point, PrimaryMetric
from trnbench.kernels.published import PublishedAs, renamed
from trnbench.kernels.sweep import EVERY_SCOPE, per_core
from trnbench.kernels.work import Work

LANES = 128  # rows and columns of the array
_DEEP = {"fp8": 2, "mxfp8": 4, "mxfp4": 4}
"""Elements of the contraction that one row of the array takes at once, where it is more than one."""


def contraction(point: Point) -> int:
    """Of one product that fills the array."""
    return LANES * _DEEP.get(str(point["dtype"]), 1)


def _throughput_work(point: Point, extent: Extent) -> Work:
    many = int(point["instructions"]) * extent.cores
    return Work(
        flops=2.0 * contraction(point) * LANES * int(point["columns"]) * many,
        instructions=float(many),
        formula=per_core(
            f"flops = 2·{contraction(point)}·{LANES}·columns·instructions, operands on chip", extent
        ),
    )


def _throughput_footprint(point: Point, _: Extent) -> Mapping[str, float]:
    return {"sbuf": contraction(point) * (LANES + int(point["columns"])) * item_bytes(point["dtype"])}


def _latency_work(point: Point, extent: Extent) -> Work:
    many = int(point["instructions"]) * extent.cores
    return Work(
        flops=2.0 * LANES**3 * many,
        engine_flops={"vector": float(LANES * LANES * many)},
        instructions=float(many),
        formula=per_core(
            f"flops = 2·{LANES}³·instructions; vector_flops = {LANES}²·instructions, the copies", extent
        ),
    )


def _instruction(point: Point) -> str:
    return "nc_matmul_mx" if str(point["dtype"]).startswith("mx") else "nc_matmul"


def kernels() -> Iterator[Kernel]:
    """tensor_throughput, tensor_latency."""
    yield Kernel(
        name="tensor_throughput",
        family="engine",
        title="Tensor engine throughput",
        about="Products of the same two tiles one after the other: what the array sustains, memory aside.",
        axes=(
            Axis(
                name="dtype",
                kind="str",
                values=("bf16", "fp32", "fp8", "mxfp8"),
                choices=("bf16", "fp16", "tf32", "fp32", "fp8", "mxfp8", "mxfp4"),
                about="of both tiles; fp8 in double rows, four microscaled elements to a row",
            ),
            Axis(name="columns", values=(64, 512), about="of the moving tile"),
            Axis(name="instructions", values=(1024,), about="products, one behind the other"),
        ),
        scopes=EVERY_SCOPE,
        default_scopes=EVERY_SCOPE[:1],
        primary=PrimaryMetric(name="flops_per_s", unit="FLOP/s", count="flops", peak="peak_flops"),
        work=_throughput_work,
        footprint=_throughput_footprint,
        requires=lambda point: (*needs(point["dtype"], _instruction(point)),),
        valid=lambda point: "" if int(point["columns"]) <= 512 else "a moving tile has up to 512 columns",
        tags=("compute", "engine", "tensor"),
        implementations={"nki": "trnbench_kernels.nki.engines:tensor_burst"},
        published=PublishedAs(
            group="instruction",
            operation=_instruction,
            program=_instruction,
            sizes=renamed({"N": "columns"}),
        ),
    )
    yield Kernel(
        name="tensor_latency",
        family="engine",
        title="Products that wait for each other",
        about="How soon a product can use the result of the one before: PSUM, a copy, the array.",
        axes=(
            Axis(name="dtype", kind="str", values=("bf16",), choices=PLAIN, about="of both tiles"),
            Axis(name="instructions", values=(64,), about="products, each of what the one before left"),
        ),
        scopes=EVERY_SCOPE,
        default_scopes=EVERY_SCOPE[:1],
        primary=PrimaryMetric(name="instructions_per_s", unit="1/s", count="instructions"),
        work=_latency_work,
        footprint=lambda point, _: {"sbuf": 2 * LANES * LANES * item_bytes(point["dtype"])},
        requires=lambda point: (*needs(point["dtype"], "nc_matmul", "tensor_scalar"),),
        tags=("compute", "engine", "tensor", "latency"),
        implementations={"nki": "trnbench_kernels.nki.engines:tensor_chain"},
        published=PublishedAs(group="instruction", operation=_instruction),
    )
