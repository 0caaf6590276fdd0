"""Micro-benchmarks of Trainium1: its own language, its 8-bit floats, its way with fp32."""

from __future__ import annotations

from collections.abc import Iterator

from trnbench import (
    Axis,
    Extent,
    Kernel,
    Point,
    PrimaryMetric,
    PublishedAs,
    Scope,
    Statement,
    Variant,
    Work,
    asks,
    item_bytes,
    per_core,
    word_axis,
)

_SOURCE = "trnbench_trn1.nki.gemm:gemm_tiled"
_TILE_N = 512  # columns of a tile of C, the largest side of one


def _product_work(point: Point, extent: Extent) -> Work:
    size, item = int(point["size"]), item_bytes(point["dtype"])
    return Work(
        flops=2.0 * size**3 * extent.cores,
        bytes={"hbm": 3.0 * size * size * item * extent.cores},
        formula=per_core(f"flops = 2·size³; hbm_bytes = 3·size²·{item:g} B, each matrix once", extent),
    )


def beta1_variants() -> Iterator[Variant]:
    """What the products of other generations are on a machine with nothing but Beta 1."""
    for kernel in ("gemm", "gemm_skinny", "gemm_ragged"):
        yield Variant(kernel=kernel, kind="nki-beta1", source=_SOURCE)


def beta1_products() -> Iterator[Kernel]:
    """gemm_beta1."""
    yield Kernel(
        name="gemm_beta1",
        family="gemm",
        title="Square matrix product in NKI Beta 1",
        about="Is the product that Beta 1 tutorials begin with bound by memory, as their ridge point says?",
        axes=(
            word_axis("dtype", "of all", "bf16", choices=("bf16", "fp16", "fp32")),
            Axis(name="size", values=(1024, 2048), least=_TILE_N, about="M = N = K"),
        ),
        scopes=(Scope.CORE, Scope.LOGICAL_CORE, Scope.DEVICE, Scope.INSTANCE),
        default_scopes=(Scope.CORE,),
        primary=PrimaryMetric(name="flops_per_s", unit="FLOP/s", count="flops", peak="peak_flops"),
        work=_product_work,
        footprint=lambda point, _: {"hbm": 3.0 * int(point["size"]) ** 2 * item_bytes(point["dtype"])},
        requires=asks("nc_matmul"),
        valid=lambda point: "" if int(point["size"]) % _TILE_N == 0 else f"size is a multiple of {_TILE_N}",
        tags=("compute", "tensor", "dense", "square", "beta1"),
        implementations={"nki-beta1": _SOURCE},
        published=PublishedAs(
            operation=lambda _: "gemm", sizes=lambda point: dict.fromkeys("MNK", float(point["size"]))
        ),
        tests=(
            Statement(
                source="nki-mm-tut",
                locator="text on arithmetic intensity",
                says="below 222 FLOP for each byte of device memory a bf16 product is bound by memory",
            ),
        ),
    )


LANES = 128  # rows and columns of the array


def _cfp8_work(point: Point, extent: Extent) -> Work:
    many = int(point["instructions"]) * extent.cores
    return Work(
        flops=2.0 * LANES * LANES * int(point["columns"]) * many,
        instructions=float(many),
        formula=per_core(f"flops = 2·{LANES}²·columns·instructions, operands on chip", extent),
    )


def cfp8_products() -> Iterator[Kernel]:
    """tensor_cfp8."""
    yield Kernel(
        name="tensor_cfp8",
        family="engine",
        title="Products of configurable 8-bit floats",
        about="Do cFP8 operands multiply any faster than bf16, or do they only take half the memory?",
        axes=(
            word_axis("dtype", "of both tiles, read as E4M3; tensor_throughput has bf16", "cfp8"),
            Axis(name="columns", values=(64, 512), about="of the moving tile"),
            Axis(name="instructions", values=(1024,), about="products, one behind the other"),
        ),
        scopes=(Scope.CORE, Scope.DEVICE, Scope.INSTANCE),
        default_scopes=(Scope.CORE,),
        primary=PrimaryMetric(name="flops_per_s", unit="FLOP/s", count="flops", peak="peak_flops"),
        work=_cfp8_work,
        footprint=lambda point, _: {
            "sbuf": LANES * (LANES + int(point["columns"])) * item_bytes(point["dtype"])
        },
        requires=asks("nc_matmul"),
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


_PRODUCTS = {"array": 1, "bf16-halves": 3}
"""Instructions of one product: upper · upper, upper · lower and lower · upper of two bf16 numbers each."""


def _fp32_work(point: Point, extent: Extent) -> Work:
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


def fp32_products() -> Iterator[Kernel]:
    """fp32_passes."""
    yield Kernel(
        name="fp32_passes",
        family="engine",
        title="Products of fp32 by the array, and of their bf16 halves",
        about="Does fp32 cost less as three products of bf16 halves than by the array's four passes?",
        axes=(
            word_axis(
                "by",
                "fp32 operands, or each split into an upper and a lower bf16 number beforehand",
                "array",
                "bf16-halves",
            ),
            word_axis("dtype", "of both operands", "fp32"),
            Axis(name="columns", values=(512,), about="of the moving tile"),
            Axis(name="products", values=(512,), about="one behind the other"),
        ),
        scopes=(Scope.CORE, Scope.DEVICE, Scope.INSTANCE),
        default_scopes=(Scope.CORE,),
        primary=PrimaryMetric(name="elements_per_s", unit="element/s", count="elements"),
        work=_fp32_work,
        footprint=lambda point, _: {"sbuf": 3.0 * LANES * (LANES + int(point["columns"])) * 4},
        requires=asks("nc_matmul"),
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


def kernels() -> Iterator[Kernel | Variant]:
    """In the order in which reports show them."""
    for family in (beta1_variants, beta1_products, cfp8_products, fp32_products):
        yield from family()
