"""The language of the first NKI, Beta 1, in which Trainium1 is programmed."""

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
    item_bytes,
    needs,
    per_core,
)

_SOURCE = "trnbench_trn1.nki.gemm:gemm_tiled"
_TILE_N = 512  # columns of a tile of C, the largest side of one


def _work(point: Point, extent: Extent) -> Work:
    size, item = int(point["size"]), item_bytes(point["dtype"])
    return Work(
        flops=2.0 * size**3 * extent.cores,
        bytes={"hbm": 3.0 * size * size * item * extent.cores},
        formula=per_core(f"flops = 2·size³; hbm_bytes = 3·size²·{item:g} B, each matrix once", extent),
    )


def variants() -> Iterator[Variant]:
    """What the products of other generations are on a machine with nothing but Beta 1."""
    for kernel in ("gemm", "gemm_skinny", "gemm_ragged"):
        yield Variant(kernel=kernel, kind="nki-beta1", source=_SOURCE)


def kernels() -> Iterator[Kernel]:
    """gemm_beta1."""
    yield Kernel(
        name="gemm_beta1",
        family="gemm",
        title="Square matrix product in NKI Beta 1",
        about="Is the product that Beta 1 tutorials begin with bound by memory, as their ridge point says?",
        axes=(
            Axis(
                name="dtype", kind="str", values=("bf16",), choices=("bf16", "fp16", "fp32"), about="of all"
            ),
            Axis(name="size", values=(1024, 2048), least=_TILE_N, about="M = N = K"),
        ),
        scopes=(Scope.CORE, Scope.LOGICAL_CORE, Scope.DEVICE, Scope.INSTANCE),
        default_scopes=(Scope.CORE,),
        primary=PrimaryMetric(name="flops_per_s", unit="FLOP/s", count="flops", peak="peak_flops"),
        work=_work,
        footprint=lambda point, _: {"hbm": 3.0 * int(point["size"]) ** 2 * item_bytes(point["dtype"])},
        requires=lambda point: (*needs(point["dtype"], "nc_matmul"),),
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
