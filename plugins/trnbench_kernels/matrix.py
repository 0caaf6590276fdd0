"""Matrix products C[M,N] = A[M,K] · B[K,N] on the tensor engine, and transposes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from trnbench.errors import UsageError
from trnbench.facts.fact import Scope
from trnbench.kernels.kernel import (
    Axis,
    Kernel,
    Point,
    PrimaryMetric,
    PublishedAs,
    always,
    asks,
    read_back,
    word_axis,
)
from trnbench.kernels.split import Shard, Split, along, grid, shares, too_few
from trnbench.kernels.work import (
    CORE_AND_SYSTEM,
    CORE_TO_SYSTEM,
    EVERY_SCOPE,
    FLOATS,
    PLAIN,
    Extent,
    Spread,
    Work,
    item_bytes,
    needs,
    per_core,
    result_dtype,
)

TILE = 128  # rows and columns of the array in every documented generation
LEAST_MOVING = 64  # columns that a product takes the time of, however few it has

_SIZES = (128, 256, 512, 1024, 2048, 4096, 16384)
_PATTERNS = ("4:16", "4:12", "4:8", "2:8", "2:4", "1:4", "1:2")  # as the core pages list them


def mnk(point: Point) -> tuple[int, int, int]:
    """Rows of A, columns of B and the length of the contraction."""
    if "m" not in point:
        size = int(point["size"])
        return size, size, size
    return int(point["m"]), int(point["n"]), int(point["k"])


def split(point: Point, cores: int) -> Split:
    """Rows and columns of C: each core reads the rows of A and the columns of B that its part asks for.

    Of the grids of cores the one whose largest part keeps the array busy for the shortest time, then the one
    that reads least; nothing is summed up across cores.
    """
    m, n, k = mnk(point)

    def cost(down: int, across: int) -> tuple[float, float, int] | None:
        if down > m or across > n:
            return None
        rows, columns = shares(m, down, TILE)[0][0], shares(n, across, TILE)[0][0]
        return -(-rows // TILE) * max(columns, LEAST_MOVING), (rows + columns) * k, across

    best = grid(cores, cost)
    if best is None:
        return Split(refusal=too_few(f"{m:,} × {n:,} elements of C", cores))
    down, across = best
    rest = {name: value for name, value in point.items() if name != "size"}
    return Split(
        shards=tuple(
            Shard(point={**rest, "m": rows, "n": columns, "k": k}, cores=times * again)
            for rows, times in shares(m, down, TILE)
            for columns, again in shares(n, across, TILE)
        ),
        how=f"C in {down:,} × {across:,} parts of its rows and columns",
    )


def operand_bytes(point: Point) -> tuple[float, float, float]:
    """Bytes of A, B and C as they lie in memory; a sparse B keeps its non-zeros and their places."""
    m, n, k = mnk(point)
    item, out = item_bytes(point["dtype"]), item_bytes(result_dtype(point["dtype"]))
    stored, index = density(point)
    return m * k * item, k * n * (stored * item + index), m * n * out


def density(point: Point) -> tuple[float, float]:
    """Share of B's elements that is stored, and bytes of position per element of B (4 bits each)."""
    pattern = str(point.get("sparsity", ""))
    if not pattern:
        return 1.0, 0.0
    stored, group = _ratio(pattern)
    return stored / group, 0.5 * stored / group


def _ratio(pattern: str) -> tuple[int, int]:
    stored, _, group = pattern.partition(":")
    try:
        pair = int(stored), int(group)
    except ValueError:
        pair = (0, 0)
    if not 0 < pair[0] <= pair[1]:
        raise UsageError(
            f"{pattern!r} is no sparsity pattern",
            cause="a pattern is KEPT:GROUP, non-zeros out of neighbours",
            try_="one of " + ", ".join(_PATTERNS),
        )
    return pair


def _work(point: Point, extent: Extent) -> Work:
    m, n, k = mnk(point)
    a, b, c = operand_bytes(point)
    item, out = item_bytes(point["dtype"]), item_bytes(result_dtype(point["dtype"]))
    formula = f"flops = 2·M·N·K; hbm_bytes = (M·K + K·N)·{item:g} B + M·N·{out:g} B, each matrix once"
    if "sparsity" in point:
        formula = (
            f"flops = 2·M·N·K, zeros counted as the documents count them; hbm_bytes = M·K·{item:g} B + "
            f"K·N·{point['sparsity']}·({item:g} B + 4 bits) + M·N·{out:g} B, each matrix once"
        )
    return Work(
        flops=float(2 * m * n * k * extent.cores),
        bytes={"hbm": (a + b + c) * extent.cores},
        formula=per_core(formula, extent),
    )


def _footprint(point: Point, _: Extent) -> Mapping[str, float]:
    return {"hbm": sum(operand_bytes(point))}


def _requires(point: Point) -> tuple[str, ...]:
    microscaled = str(point["dtype"]).startswith("mx")
    return (*needs(point["dtype"], "nc_matmul_mx" if microscaled else "nc_matmul"),)


def _ragged(point: Point) -> str:
    if all(extent % TILE == 0 for extent in mnk(point)):
        return f"M, N and K are all multiples of {TILE}: gemm and gemm_skinny cover that"
    return ""


_PRIMARY = PrimaryMetric(name="flops_per_s", unit="FLOP/s", count="flops", peak="peak_flops")
# Sources of microscaled products, and those in Beta 1, are added by the generations that have them.
_NKI = {"nki": "trnbench_kernels.nki.gemm_best:gemm_best"}

_SIDES = {"M": "m", "N": "n", "K": "k"}


def _published(operation: str = "gemm") -> PublishedAs:
    """Work is counted of the sides, which a published product names apart."""
    return PublishedAs(operation=always(operation), sizes=_named_sides, point=_sides)


def _named_sides(point: Point) -> Mapping[str, float]:
    return dict(zip("MNK", map(float, mnk(point)), strict=True))


def _sides(shape: Mapping[str, Any]) -> Point | None:
    if shape.get("B", 1) != 1:
        return None
    return read_back(_SIDES)(shape)


# The steps below `gemm`, one technique more each: what it brings is the height of the step.
_LADDER = {
    "naive": (
        "Square matrix product, naive",
        "Tile by tile, every operand fetched again for every product: what is lost without reuse.",
    ),
    "blocked": (
        "Square matrix product, blocked",
        "Blocks of both operands fetched once and used by all their tiles.",
    ),
}


def _dtype(*values: str) -> Axis:
    return Axis(name="dtype", kind="str", values=values or FLOATS, choices=FLOATS, about="of A and B")


def _side(name: str, values: tuple[int, ...], about: str) -> Axis:
    return Axis(name=name, values=values, about=about)


def _product(**of_this: Any) -> Kernel:
    """A kernel of this family: what its products share, and what `of_this` says otherwise."""
    shared: dict[str, Any] = {
        "family": "gemm",
        "scopes": CORE_TO_SYSTEM,
        "primary": _PRIMARY,
        "work": _work,
        "footprint": _footprint,
        "requires": _requires,
        "split": split,
        "implementations": _NKI,
        "published": _published(),
    }
    return Kernel(**shared | of_this)


_RECTANGLE = ("gemm_skinny", "m", "n", "k")


def products() -> Iterator[Kernel]:
    """gemm and the steps to it, gemm_skinny, gemm_ragged, gemm_int8, gemm_sparse."""
    yield _product(
        name="gemm",
        title="Square matrix product",
        about="How close the tensor engine comes to its peak as matrices grow, per data type.",
        axes=(
            _dtype(),
            Axis(name="size", values=_SIZES, wide=(4096, 16384), about="M = N = K", sides=_RECTANGLE),
        ),
        default_scopes=EVERY_SCOPE,
        tags=("compute", "tensor", "dense", "square"),
    )
    for step, (title, about) in _LADDER.items():
        yield _product(
            name=f"gemm_{step}",
            title=title,
            about=about,
            axes=(
                _dtype("bf16", "tf32", "fp32", "fp8", "mxfp8"),
                Axis(name="size", values=(1024, 4096), about="M = N = K", sides=_RECTANGLE),
            ),
            default_scopes=EVERY_SCOPE[:1],
            tags=("compute", "tensor", "dense", "square", "ladder"),
            implementations={"nki": f"trnbench_kernels.nki.gemm:gemm_{step}"},
        )
    yield _product(
        name="gemm_shared",
        title="Square matrix product, shared by cores",
        about="What one product gains from the two cores of a logical core, and from all of a device.",
        axes=(
            _dtype("bf16"),
            Axis(name="size", values=(512, 2048), about="M = N = K of the product that is shared"),
        ),
        spread=Spread.SHARED,
        scopes=(Scope.LOGICAL_CORE, Scope.DEVICE),
        split=None,
        work=lambda point, extent: _work(point, msgspec.structs.replace(extent, cores=1)),
        footprint=lambda point, extent: {"hbm": sum(operand_bytes(point)) / extent.cores},
        tags=("compute", "tensor", "dense", "square", "programs"),
    )
    yield from _odd_shapes()
    yield from _documented_only()


def _odd_shapes() -> Iterator[Kernel]:
    """gemm_skinny, gemm_ragged."""
    yield _product(
        name="gemm_skinny",
        title="Matrix product with few rows",
        about="What a small batch costs: from memory-bound to compute-bound as M grows.",
        axes=(
            _dtype("bf16", "fp8"),
            _side("m", (1, 16, 64, 128, 512, 2048), "rows of A, the batch"),
            _side("n", (4096,), "columns of B"),
            _side("k", (4096,), "length of the contraction"),
        ),
        default_scopes=EVERY_SCOPE[:1],
        tags=("compute", "tensor", "dense", "memory-bound"),
    )
    yield _product(
        name="gemm_ragged",
        title="Matrix product off the tile grid",
        about=f"What is lost when M, N, K are no multiples of the {TILE}-wide array.",
        axes=(
            _dtype("bf16", "fp32"),
            _side("m", (127, 129, 1000, 2047, 4097), "rows of A"),
            _side("n", (127, 129, 1000, 2049, 4095), "columns of B"),
            _side("k", (127, 129, 1000, 2050, 4100), "length of the contraction"),
        ),
        zipped=(("m", "n", "k"),),
        default_scopes=EVERY_SCOPE[:1],
        valid=_ragged,
        tags=("compute", "tensor", "dense", "ragged"),
    )


def _documented_only() -> Iterator[Kernel]:
    """gemm_int8, gemm_sparse: no public instruction carries them out."""
    yield _product(
        name="gemm_int8",
        title="Integer matrix product",
        about="The documented INT8 peak; no public instruction multiplies integers.",
        axes=(
            word_axis("dtype", "of A and B", "int8"),
            Axis(name="size", values=(1024, 4096, 16384), wide=(16384,), about="M = N = K", sides=_RECTANGLE),
        ),
        default_scopes=CORE_AND_SYSTEM,
        requires=asks("int8_matmul"),
        tags=("compute", "tensor", "integer"),
        implementations={"model": "roofline"},
    )
    yield _product(
        name="gemm_sparse",
        title="Structured-sparse matrix product",
        about="The documented sparse peaks; no public instruction takes a sparse operand.",
        axes=(
            word_axis("dtype", "of A and B", "bf16", "fp8", choices=("bf16", "fp16", "tf32", "fp8")),
            word_axis(
                "sparsity", "non-zeros kept of so many neighbours along K, in B", "4:16", choices=_PATTERNS
            ),
            Axis(name="size", values=(1024, 4096, 16384), wide=(16384,), about="M = N = K", sides=_RECTANGLE),
        ),
        default_scopes=CORE_AND_SYSTEM,
        primary=PrimaryMetric(
            name="flops_per_s", unit="FLOP/s", count="flops", peak="peak_flops", sparse=True
        ),
        requires=asks("sparse_matmul"),
        tags=("compute", "tensor", "sparse"),
        implementations={"model": "roofline"},
        published=_published("sparse gemm"),
    )


def _transpose_work(point: Point, extent: Extent) -> Work:
    item = item_bytes(point["dtype"])
    return Work(
        bytes={"hbm": 2.0 * _elements(point) * item * extent.cores},
        formula=per_core(f"hbm_bytes = 2·size²·{item:g} B; no arithmetic counted", extent),
    )


def _transpose_footprint(point: Point, _: Extent) -> Mapping[str, float]:
    return {"hbm": 2.0 * _elements(point) * item_bytes(point["dtype"])}


def _elements(point: Point) -> int:
    return int(point.get("rows", point["size"])) * int(point["size"])


def _transpose_sizes(point: Point) -> Mapping[str, float]:
    return {"rows": float(point.get("rows", point["size"])), "columns": float(point["size"])}


def transposes() -> Iterator[Kernel]:
    """transpose."""
    yield Kernel(
        name="transpose",
        family="transpose",
        title="Matrix transpose",
        about="Changing which axis lies on the partitions: the hidden cost between two products.",
        axes=(
            word_axis("dtype", "in and out", "bf16", "fp32", choices=PLAIN),
            Axis(name="size", values=(512, 2048, 8192), about="rows and columns"),
        ),
        scopes=EVERY_SCOPE,
        default_scopes=EVERY_SCOPE[:1],
        primary=PrimaryMetric(name="hbm_bytes_per_s", unit="B/s", count="hbm_bytes", peak="hbm_bandwidth"),
        work=_transpose_work,
        footprint=_transpose_footprint,
        requires=asks("nc_transpose"),
        tags=("memory", "layout", "tensor"),
        split=lambda point, cores: along(
            "rows", {**point, "rows": point["size"]}, cores, TILE, f"{point['size']:,} rows"
        ),
        implementations={"nki": "trnbench_kernels.nki.transpose:transpose"},
        published=PublishedAs(operation=always("transpose"), sizes=_transpose_sizes),
    )
