"""Row-wise normalisations: read once, write once, a few operations per element between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from trnbench.kernels.axis import Axis
from trnbench.kernels.dtype import PLAIN, item_bytes, needs
from trnbench.kernels.extent import Extent
from trnbench.kernels.kernel import Kernel, Point, PrimaryMetric
from trnbench.kernels.published import PublishedAs, always, read_back, renamed
from trnbench.kernels.sweep import EVERY_SCOPE, per_core
from trnbench.kernels.work import Work


class Rowwise(msgspec.Struct, frozen=True):
    """Elementary operations per element by engine, and per row on the scalar engine."""

    title: str
    about: str
    vector: int
    scalar: int
    scalar_per_row: int
    weights: int  # vectors of one row's length read beside the rows
    instructions: tuple[str, ...]
    counted: str


ROWWISE = {
    "softmax": Rowwise(
        "Softmax over rows",
        "Exponentials between two passes of memory: which engine holds it back.",
        vector=3,
        scalar=2,
        scalar_per_row=1,
        weights=0,
        instructions=("tensor_reduce", "activation", "tensor_scalar"),
        counted="vector: maximum, sum, scale; scalar: subtract, exp, and a reciprocal per row",
    ),
    "layer_norm": Rowwise(
        "Layer norm over rows",
        "Mean and variance before the first result: memory bandwidth under a reduction.",
        vector=7,
        scalar=0,
        scalar_per_row=1,
        weights=2,
        instructions=("bn_stats", "bn_aggr", "tensor_scalar", "tensor_tensor"),
        counted="vector: sum, subtract, square, sum, scale, gamma, beta; scalar: one rsqrt per row",
    ),
    "rms_norm": Rowwise(
        "RMS norm over rows",
        "Layer norm without the mean: half the arithmetic on the same memory.",
        vector=4,
        scalar=0,
        scalar_per_row=1,
        weights=1,
        instructions=("tensor_reduce", "activation", "tensor_scalar", "tensor_tensor"),
        counted="vector: square, sum, scale, gamma; scalar: one rsqrt per row",
    ),
}


def _memory(rule: Rowwise, point: Point) -> float:
    rows, columns = int(point["rows"]), int(point["columns"])
    return (2.0 * rows * columns + rule.weights * columns) * item_bytes(point["dtype"])


def _work(rule: Rowwise) -> Callable[[Point, Extent], Work]:
    def work(point: Point, extent: Extent) -> Work:
        rows, columns = int(point["rows"]), int(point["columns"])
        item = item_bytes(point["dtype"])
        elements = float(rows * columns * extent.cores)
        flops = {
            "vector": rule.vector * elements,
            "scalar": rule.scalar * elements + rule.scalar_per_row * float(rows * extent.cores),
        }
        extra = f" + {rule.weights}·columns" if rule.weights else ""
        return Work(
            engine_flops=flops,
            bytes={"hbm": _memory(rule, point) * extent.cores},
            formula=per_core(
                f"hbm_bytes = (2·rows·columns{extra})·{item:g} B; "
                f"per element {rule.vector} vector and {rule.scalar} scalar operations ({rule.counted})",
                extent,
            ),
        )

    return work


def _footprint(rule: Rowwise) -> Callable[[Point, Extent], Mapping[str, float]]:
    return lambda point, _: {"hbm": _memory(rule, point)}


def _requires(rule: Rowwise) -> Callable[[Point], tuple[str, ...]]:
    return lambda point: (*needs(point["dtype"], *rule.instructions),)


_AXES = {"rows": "rows", "columns": "columns"}


def kernels() -> Iterator[Kernel]:
    """softmax, layer_norm, rms_norm."""
    for name, rule in ROWWISE.items():
        yield Kernel(
            name=name,
            family="normalisation",
            title=rule.title,
            about=rule.about,
            axes=(
                Axis(name="dtype", kind="str", values=("bf16", "fp32"), choices=PLAIN, about="in and out"),
                Axis(name="rows", values=(4096,), about="rows, 128 at a time"),
                Axis(name="columns", values=(512, 2048, 8192), about="elements of a row"),
            ),
            scopes=EVERY_SCOPE,
            default_scopes=EVERY_SCOPE[:1],
            primary=PrimaryMetric(
                name="hbm_bytes_per_s", unit="B/s", count="hbm_bytes", peak="hbm_bandwidth"
            ),
            work=_work(rule),
            footprint=_footprint(rule),
            requires=_requires(rule),
            tags=("operator", "memory-bound", "reduction"),
            implementations={"nki": f"trnbench_kernels.nki.rows:{name}"},
            published=PublishedAs(operation=always(name), sizes=renamed(_AXES), point=read_back(_AXES)),
        )
