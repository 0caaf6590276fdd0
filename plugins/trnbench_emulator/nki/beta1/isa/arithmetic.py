"""Instructions of Beta 1 on Vector, Scalar and GpSimd, which return their result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trnbench.errors import KernelError
from trnbench_emulator.nki import isa as today
from trnbench_emulator.nki import site
from trnbench_emulator.nki.beta1.deferral import settle
from trnbench_emulator.nki.beta1.index import (
    Grid,
    Mask,
    box_of,
    broadcast,
    leaves_nothing,
    mask_of,
    of_partitions,
    whole,
)
from trnbench_emulator.nki.beta1.operation import broadcast_to, in_sbuf, of_one_rank
from trnbench_emulator.nki.beta1.tile import Tile, later
from trnbench_emulator.nki.constraints import dimensions, word
from trnbench_emulator.nki.dtype import DTYPES
from trnbench_emulator.nki.functions import FUNCTIONS
from trnbench_emulator.nki.isa.constants import (
    gpsimd_engine,
    unknown_engine,
)
from trnbench_emulator.nki.recorder import current

Shape = Callable[[dict[str, Any]], tuple[int, ...]]


def returning(
    name: str, order: str, source: str, shape: Shape | None = None, dtype: Any = None, columns: int = 0
) -> Any:
    """An instruction whose arguments are today's but for `dst`: its result is like `source`, unless it has
    another shape, or so many columns."""
    ours = getattr(today, name)
    names = order.split()

    def call(*args: Any, mask: Any = None, dtype: Any = dtype, **named: Any) -> Any:
        settle()
        if len(args) > len(names):
            raise KernelError(f"nisa.{name} takes {', '.join(names)} ({site.here()})")
        arguments = {**dict(zip(names, args, strict=False)), **named}
        arguments.pop("name", None)
        into = arguments.pop("dst", None)
        like = arguments.get(source)
        if not isinstance(like, Tile):
            raise KernelError(
                f"nisa.{name}: {source} is {type(like).__name__}, it must be a tile ({site.here()})"
            )

        def issue(dst: Tile) -> None:
            if leaves_nothing(mask, like.shape):
                return
            lowered = {
                key: argument.operand(mask) if isinstance(argument, Tile) else argument
                for key, argument in arguments.items()
            }
            ours(dst.operand(of_partitions(mask, len(like.shape)) if columns else mask), **lowered)

        if into is not None:
            issue(into)
            return into
        sizes = (like.shape[0], columns) if columns else like.shape
        return later(shape(arguments) if shape else sizes, dtype or like.dtype, issue)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"nisa.{name} of Beta 1: the result is returned."
    return call


_range_select = returning("range_select", "on_true_tile comp_op0 comp_op1 bound0 bound1", "on_true_tile")


def range_select(*args: Any, mask: Any = None, range_start: Any = 0, **named: Any) -> Any:
    """A mask leaves a part of the tile, whose columns stay the tile's."""
    tile = named.get("on_true_tile", args[0] if args else None)
    if isinstance(tile, Tile) and len(tile.shape) == 2 and (box := box_of(mask, tile.shape)) is not None:
        range_start = range_start + box[1][0]
    return _range_select(*args, mask=mask, range_start=range_start, **named)


select_reduce = returning("select_reduce", "predicate on_true on_false", "on_true")


bn_stats = returning("bn_stats", "data", "data", columns=6)


bn_aggr = returning("bn_aggr", "data", "data", columns=2)


max8 = returning("max8", "src", "src", columns=8)


nc_find_index8 = returning("nc_find_index8", "data vals", "data", dtype=DTYPES["uint32"], columns=8)


nc_match_replace8 = returning("nc_match_replace8", "data vals imm dst_idx", "data")


local_gather = returning(
    "local_gather", "src_buffer index num_elem_per_idx num_valid_indices", "src_buffer",
    lambda given: (*given["index"].shape, 16, given.get("num_elem_per_idx", 1)),
)  # fmt: skip


sequence_bounds = returning(
    "sequence_bounds", "segment_ids", "segment_ids", lambda given: (1, 2, given["segment_ids"].shape[-1])
)


activation = returning("activation", "op data bias scale reduce_op reduce_res reduce_cmd", "data")


activation_reduce = returning("activation_reduce", "op data reduce_op reduce_res bias scale", "data")


_tensor_tensor = returning("tensor_tensor", "data1 data2 op", "data1")


def tensor_tensor(data1: Tile, data2: Tile, op: Any, **named: Any) -> Any:
    """data1 op data2; free dimensions of size 1 are read repeatedly."""
    settle()
    if data1.shape != data2.shape:
        data1, data2 = of_one_rank((data1, data2))
        first, second = data1.shape[0], data2.shape[0]
        if first != second:
            raise KernelError(
                f"tensor_tensor: data1 has {first} partitions, data2 has {second} ({site.here()})",
                cause="an instruction reads as many partitions of both (nki.isa.tensor_tensor)",
                try_="row.broadcast_to((128, …)), or nl.add, nl.multiply, … which spread a row",
            )
        shape = broadcast(data1.shape, data2.shape)
        data1, data2 = (broadcast_to(tile, shape) for tile in (data1, data2))
    return _tensor_tensor(data1, data2, op, **named)


_tensor_scalar = returning("tensor_scalar", "data op0 operand0 reverse0 op1 operand1 reverse1", "data")


def tensor_scalar(data: Tile, op0: Any, operand0: Any, *args: Any, **named: Any) -> Any:
    """(data op0 operand0) op1 operand1. Products of floats with the engine left open go to Scalar: published
    profiles show them there."""
    alone = not args and all(named.get(name) is None for name in ("op1", "dst"))
    opened = word(named.get("engine", unknown_engine)) == "unknown"
    if alone and opened and scaled_by_scalar(op0, data) and current().assumes("engine-choice"):
        options = {name: named[name] for name in ("mask", "dtype") if name in named}
        return activation(op=FUNCTIONS["copy"], data=data, scale=operand0, **options)
    return _tensor_scalar(data, op0, operand0, *args, **named)


def scaled_by_scalar(op: Any, data: Any) -> bool:
    """Is this a product that the compiler of Beta 1 gives to Scalar?"""
    name = getattr(op, "name", getattr(op, "__name__", ""))
    return name == "multiply" and isinstance(data, Tile) and data.dtype.is_float


scalar_tensor_tensor = returning(
    "scalar_tensor_tensor", "data op0 operand0 op1 operand1 reverse0 reverse1", "data"
)


tensor_tensor_scan = returning("tensor_tensor_scan", "data0 data1 initial op0 op1 reverse0 reverse1", "data0")


tensor_scalar_reduce = returning(
    "tensor_scalar_reduce", "data op0 operand0 reduce_op reduce_res reverse0", "data"
)


tensor_scalar_cumulative = returning("tensor_scalar_cumulative", "src op0 op1 imm0 imm1 reduce_cmd", "src")


tensor_copy = returning("tensor_copy", "src", "src")


reciprocal = returning("reciprocal", "data", "data")


dropout = returning("dropout", "data prob", "data")


def tensor_reduce(
    op: Any,
    data: Tile,
    axis: Any,
    *,
    mask: Any = None,
    dtype: Any = None,
    negate: bool = False,
    keepdims: bool = False,
    **_: Any,
) -> Tile:
    settle()
    rank = len(data.shape)
    axes = dimensions(axis, rank)
    if any(not 0 < at < rank for at in axes):
        raise KernelError(
            f"tensor_reduce: axis {axis} of {list(data.shape)} is no free dimension ({site.here()})",
            try_="nisa.nc_matmul with a column of ones adds up partitions",
        )
    order = (*(at for at in range(rank) if at not in axes), *axes)  # what is reduced is read last
    sizes = tuple(1 if at in axes else size for at, size in enumerate(data.shape))
    shape = sizes if keepdims else tuple(size for at, size in enumerate(data.shape) if at not in axes)
    shape = shape if len(shape) > 1 else (*shape, 1)

    def issue(dst: Tile) -> None:
        if not leaves_nothing(mask, data.shape):
            today.tensor_reduce(
                dst.operand(mask),
                op,
                data.operand(mask).permute(order),
                tuple(range(rank - len(axes), rank)),
                negate=negate,
            )

    return later(shape, dtype or data.dtype, issue)


def tensor_partition_reduce(op: Any, data: Tile, *, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:

    def issue(dst: Tile) -> None:
        if not leaves_nothing(mask, data.shape):
            box = box_of(mask, data.shape) or ()
            into = mask_of(((0, 1), *box[1:]), (1, *data.shape[1:]))
            today.tensor_partition_reduce(dst.operand(into), op, data.operand(mask))

    return later((1, *data.shape[1:]), dtype or data.dtype, issue)


def iota(expr: Grid | int, dtype: Any, *, mask: Any = None, **_: Any) -> Tile:
    """The values of an index, such as nl.arange(128)[:, None] * 512, or of a loop's or a program's number."""
    number = None if isinstance(expr, Grid) else whole(expr)
    index: Any = expr if number is None else Grid(number, (0, 0), (1, 1))
    _pattern(index, "iota")

    def issue(dst: Tile) -> None:
        part = _inside(index, mask)
        if part is not None:
            pattern, step = _pattern(part, "iota")
            today.iota(dst.operand(mask), pattern, part.const, step)

    return later(index.shape, dtype, issue)


def affine_select(
    pred: Any, on_true_tile: Tile, on_false_value: Any, *, mask: Any = None, dtype: Any = None, **_: Any
) -> Tile:
    """The tile where `pred` holds, a comparison of indices; else the number."""
    settle()
    on_true_tile = in_sbuf(on_true_tile, mask)
    shape = on_true_tile.shape
    equality = isinstance(pred, Mask) and pred.is_equality
    if isinstance(pred, Mask) and len(pred.conditions) > 1 and not equality:
        raise KernelError(
            f"affine_select: pred joins {len(pred.conditions)} comparisons ({site.here()})",
            try_="one nisa.affine_select for each",
        )

    def issue(dst: Tile) -> None:
        if leaves_nothing(mask, shape):
            return
        if not isinstance(pred, Mask) or not pred.conditions:
            if pred:
                today.tensor_copy(dst.operand(mask), on_true_tile.operand(mask), engine=gpsimd_engine)
            else:
                today.memset(dst.operand(mask), on_false_value, engine=gpsimd_engine)
            return
        expr = pred.conditions[0].widened(len(shape))
        part = _inside(Grid(expr.const, expr.coefficients, shape), mask)
        pattern, step = _pattern(part, "affine_select")
        today.affine_select(
            dst.operand(mask), pattern, step, on_true_tile.operand(mask), on_false_value,
            cmp_op=FUNCTIONS["equal" if equality else "greater_equal"], offset=part.const,
        )  # fmt: skip

    return later(shape, dtype or on_true_tile.dtype, issue)


def _inside(index: Any, mask: Any) -> Any:
    """What of an index a mask leaves; None where that is nothing."""
    box = box_of(mask, index.shape)
    if box is None:
        return None
    moved = sum(step * low for step, (low, _) in zip(index.coefficients, box, strict=True))
    return Grid(index.const + moved, index.coefficients, tuple(high - low for low, high in box))


def _pattern(expr: Any, call: str) -> tuple[list[list[int]], int]:
    if not isinstance(expr, Grid):
        raise KernelError(f"{call}: {expr!r} is no index made of nl.arange ({site.here()})")
    pairs = list(zip(expr.coefficients, expr.shape, strict=True))[1:]
    return [[step, size] for step, size in pairs] or [[1, 1]], expr.coefficients[0]
