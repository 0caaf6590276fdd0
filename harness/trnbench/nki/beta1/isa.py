"""neuronxcc.nki.isa: Beta 1 instructions, which return their result."""

# ruff: noqa: ARG001 - the signatures are NKI's, whole; not every argument changes what is modelled

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

from trnbench.errors import KernelError
from trnbench.nki import isa as today
from trnbench.nki import site
from trnbench.nki.beta1.index import Grid, Mask, box_of, broadcast
from trnbench.nki.beta1.operation import broadcast_to
from trnbench.nki.beta1.pending import later, settle
from trnbench.nki.beta1.root import shaped
from trnbench.nki.beta1.tile import Tile
from trnbench.nki.dtype import DTYPES, dtype_of
from trnbench.nki.functions import FUNCTIONS
from trnbench.nki.isa.common import word
from trnbench.nki.isa.constants import (
    dge_mode,
    engine,
    gpsimd_engine,
    nc_version,
    oob_mode,
    reduce_cmd,
    scalar_engine,
    tensor_engine,
    unknown_engine,
    vector_engine,
)
from trnbench.nki.memory import Buffer
from trnbench.nki.recorder import current

_FP32 = DTYPES["float32"]
_BLOCK = 32  # what Vector transposes at once


def nc_matmul(
    stationary: Tile,
    moving: Tile,
    *,
    is_stationary_onezero: bool = False,
    is_moving_onezero: bool = False,
    is_transpose: bool = False,
    tile_position: Any = (),
    tile_size: Any = (),
    perf_mode: Any = "none",
    mask: Any = None,
    **_: Any,
) -> Tile:
    """stationaryᵀ · moving into PSUM; `tile[…] += nc_matmul(…)` adds to what PSUM holds."""
    settle()
    stationary, moving = (_in_sbuf(each, mask) for each in (stationary, moving))
    mode = {"double_row_gen3": "double_row"}.get(word(perf_mode), word(perf_mode))
    rows = stationary.shape[1:-1] if mode == "double_row" else ()
    m = prod(stationary.shape[1:]) // prod(rows)
    free = moving.shape[1:] if not rows else moving.shape[1 + len(rows) :]
    kind = moving.dtype if is_transpose else _FP32

    def issue(dst: Tile, accumulate: bool | None = False) -> None:
        if box_of(mask, moving.shape) is None or box_of(mask, stationary.shape) is None:
            return
        today.nc_matmul(
            dst.operand(mask), stationary.operand(mask), moving.operand(mask),
            is_transpose=is_transpose, accumulate=accumulate,
            tile_position=tuple(tile_position), tile_size=tuple(tile_size),
            perf_mode=today.matmul_perf_mode(mode),
        )  # fmt: skip

    return later(
        (m, *free), kind, issue, buffer=Buffer.PSUM, into=(Buffer.PSUM,), adds=partial(issue, accumulate=None)
    )


def _in_sbuf(operand: Tile, mask: Any) -> Tile:
    """The operand, or the copy of it that the compiler puts in: the tensor engine does not read PSUM."""
    if operand.buffer is not Buffer.PSUM or box_of(mask, operand.shape) is None:
        return operand
    from trnbench.nki.beta1 import language

    copied = language.copy(operand, mask=mask)
    settle()
    return copied


def nc_transpose(
    data: Tile, *, mask: Any = None, dtype: Any = None, engine: Any = unknown_engine, **_: Any
) -> Tile:
    """The transpose in PSUM by the tensor engine, or in SBUF by Vector."""
    settle()
    where = Buffer.SBUF if word(engine) == "vector" else Buffer.PSUM
    free = prod(data.shape[1:])

    def issue(dst: Tile) -> None:
        source = data.operand(mask)
        today.nc_transpose(dst.operand(_turned(mask)), source, engine=engine)

    same = dtype is None or dtype_of(dtype) is data.dtype or current().machine.nc_version < 3
    kind = data.dtype if dtype is None or not same else dtype_of(dtype)
    return later((free, data.shape[0]), kind, issue, buffer=where, into=(where,), exact=True)


def _turned(mask: Any) -> Any:
    """The mask of a tile for its transpose."""
    if not isinstance(mask, Mask):
        return mask
    return Mask(
        tuple(Grid(each.const, each.coefficients[::-1], each.sizes[::-1]) for each in mask.conditions)
    )


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
    axes = tuple(sorted(int(each) % rank for each in ((axis,) if isinstance(axis, int) else axis)))
    order = (*(at for at in range(rank) if at not in axes), *axes)  # what is reduced is read last
    kept = tuple(1 if at in axes else size for at, size in enumerate(data.shape))
    shape = kept if keepdims else tuple(size for at, size in enumerate(data.shape) if at not in axes)
    shape = shape if len(shape) > 1 else (*shape, 1)
    kind = data.dtype if dtype is None else dtype_of(dtype)

    def issue(dst: Tile) -> None:
        if box_of(mask, data.shape) is not None:
            today.tensor_reduce(
                dst.operand(mask),
                op,
                data.operand(mask).permute(order),
                tuple(range(rank - len(axes), rank)),
                negate=negate,
            )

    return later(shape, kind, issue)


def tensor_partition_reduce(op: Any, data: Tile, *, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    kind = data.dtype if dtype is None else dtype_of(dtype)

    def issue(dst: Tile) -> None:
        today.tensor_partition_reduce(dst.operand(), op, data.operand(mask))

    return later((1, *data.shape[1:]), kind, issue)


def memset(
    shape: Any, value: Any, dtype: Any, *, mask: Any = None, engine: Any = unknown_engine, **_: Any
) -> Tile:
    sizes, _axis = shaped(shape, Buffer.SBUF)

    def issue(dst: Tile) -> None:
        if box_of(mask, sizes) is not None:
            today.memset(dst.operand(mask), value, engine=engine)

    return later(sizes, dtype_of(dtype), issue)


def iota(expr: Grid, dtype: Any, *, mask: Any = None, **_: Any) -> Tile:
    """The values of an index, such as nl.arange(128)[:, None] * 512 + nl.arange(512)[None, :]."""
    pattern, step = _pattern(expr, "iota")

    def issue(dst: Tile) -> None:
        today.iota(dst.operand(mask), pattern, expr.const, step)

    return later(expr.sizes, dtype_of(dtype), issue)


def affine_select(
    pred: Any, on_true_tile: Tile, on_false_value: Any, *, mask: Any = None, dtype: Any = None, **_: Any
) -> Tile:
    """The tile where `pred` holds, a comparison of indices; else the number."""
    settle()
    if on_true_tile.buffer is Buffer.PSUM:  # out of GpSimd's reach
        held = later(
            on_true_tile.shape, on_true_tile.dtype, partial(_brought, on_true_tile, mask), into=(Buffer.SBUF,)
        )
        settle()
        on_true_tile = held
    kind = on_true_tile.dtype if dtype is None else dtype_of(dtype)
    shape = on_true_tile.shape
    if isinstance(pred, Mask) and len(pred.conditions) > 1:
        raise KernelError(
            f"affine_select: pred joins {len(pred.conditions)} comparisons ({site.here()})",
            try_="one nisa.affine_select for each",
        )

    def issue(dst: Tile) -> None:
        if not isinstance(pred, Mask) or not pred.conditions:
            if pred:
                today.tensor_copy(dst.operand(mask), on_true_tile.operand(mask), engine=gpsimd_engine)
            else:
                today.memset(dst.operand(mask), on_false_value, engine=gpsimd_engine)
            return
        expr = pred.conditions[0].widened(len(shape))
        pattern, step = _pattern(Grid(expr.const, expr.coefficients, shape), "affine_select")
        today.affine_select(
            dst.operand(mask), pattern, step, on_true_tile.operand(mask), on_false_value,
            cmp_op=FUNCTIONS["greater_equal"], offset=expr.const,
        )  # fmt: skip

    return later(shape, kind, issue)


def _brought(source: Tile, mask: Any, dst: Tile) -> None:
    """Out of PSUM, by Scalar."""
    today.activation(dst.operand(mask), FUNCTIONS["copy"], source.operand(mask))


def _pattern(expr: Any, call: str) -> tuple[list[list[int]], int]:
    if not isinstance(expr, Grid):
        raise KernelError(f"{call}: {expr!r} is no index made of nl.arange ({site.here()})")
    pairs = list(zip(expr.coefficients, expr.sizes, strict=True))[1:]
    return [[step, size] for step, size in pairs] or [[1, 1]], expr.coefficients[0]


def dma_copy(
    *,
    dst: Tile,
    src: Tile,
    mask: Any = None,
    dst_rmw_op: Any = None,
    oob_mode: Any = oob_mode.error,
    **_: Any,
) -> None:
    """Copy between HBM and SBUF, in either direction; with dst_rmw_op, add to what is there."""
    settle()
    if box_of(mask, dst.shape) is None:
        return
    dst.root.written = True
    if dst_rmw_op is not None:
        into = dst.operand(mask)
        today.dma_compute(into, [src.operand(mask), into], FUNCTIONS["add"], oob_mode=oob_mode)
        return
    skipping = word(oob_mode) != "error"  # rows that are left out keep what they hold
    into = dst.operand(mask) if skipping else dst.overwritten(src, mask)
    today.dma_copy(into, src.operand(mask), oob_mode=oob_mode)


def dma_transpose(src: Tile, *, axes: Any = None, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    settle()
    shape = src.shape[::-1] if len(src.shape) != 4 else tuple(src.shape[each] for each in (3, 1, 2, 0))

    def issue(dst: Tile) -> None:
        today.dma_transpose(dst.operand(), src.operand(mask), axes)

    return later(shape, src.dtype, issue, into=(Buffer.SBUF,), exact=True)


def tensor_copy_predicated(
    *, src: Any, dst: Tile, predicate: Tile, mask: Any = None, reverse_pred: bool = False, **_: Any
) -> None:
    settle()
    value = src.operand(mask) if isinstance(src, Tile) else src
    today.tensor_copy_predicated(dst.operand(mask), value, predicate.operand(mask), reverse_pred)


def nc_stream_shuffle(src: Tile, dst: Tile, shuffle_mask: Any, *, mask: Any = None, **_: Any) -> None:
    settle()
    today.nc_stream_shuffle(dst.operand(mask), src.operand(mask), shuffle_mask)


Shape = Callable[[dict[str, Any]], tuple[int, ...]]


def _plain(name: str, order: str, source: str, shape: Shape | None = None, dtype: Any = None) -> Any:
    """An instruction whose arguments are today's but for `dst`: its result is like `source`."""
    ours = getattr(today, name)
    names = order.split()

    def call(*args: Any, mask: Any = None, dtype: Any = dtype, **named: Any) -> Any:
        settle()
        if len(args) > len(names):
            raise KernelError(f"nisa.{name} takes {', '.join(names)} ({site.here()})")
        given = {**dict(zip(names, args, strict=False)), **named}
        given.pop("name", None)
        into = given.pop("dst", None)
        like = given.get(source)
        if not isinstance(like, Tile):
            raise KernelError(
                f"nisa.{name}: {source} is {type(like).__name__}, it must be a tile ({site.here()})"
            )

        def issue(dst: Tile) -> None:
            if box_of(mask, like.shape) is None:
                return
            lowered = {
                key: each.operand(mask) if isinstance(each, Tile) else each for key, each in given.items()
            }
            ours(dst.operand(mask), **lowered)

        if into is not None:
            issue(into)
            return into
        kind = like.dtype if dtype is None else dtype_of(dtype)
        return later(shape(given) if shape else like.shape, kind, issue)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"nisa.{name} of Beta 1: the result is returned."
    return call


def _eight(given: dict[str, Any]) -> tuple[int, ...]:
    data = given["src"] if "src" in given else given["data"]
    return (data.shape[0], 8)


activation = _plain("activation", "op data bias scale reduce_op reduce_res reduce_cmd", "data")
activation_reduce = _plain("activation_reduce", "op data reduce_op reduce_res bias scale", "data")
_tensor_tensor = _plain("tensor_tensor", "data1 data2 op", "data1")


def tensor_tensor(data1: Tile, data2: Tile, op: Any, **named: Any) -> Any:
    """data1 op data2; free dimensions of size 1 are read repeatedly."""
    settle()
    if data1.shape != data2.shape:
        shape = broadcast(data1.shape, data2.shape)
        data1, data2 = (broadcast_to(each, shape) for each in (data1, data2))
    return _tensor_tensor(data1, data2, op, **named)


_tensor_scalar = _plain("tensor_scalar", "data op0 operand0 reverse0 op1 operand1 reverse1", "data")


def tensor_scalar(data: Tile, op0: Any, operand0: Any, *args: Any, **named: Any) -> Any:
    """(data op0 operand0) op1 operand1. Products of floats with the engine left open go to Scalar: published
    profiles show them there."""
    alone = not args and not any(named.get(each) for each in ("op1", "dst"))
    opened = word(named.get("engine", unknown_engine)) == "unknown"
    if alone and opened and scaled_by_scalar(op0, data):
        kept = {each: named[each] for each in ("mask", "dtype") if each in named}
        return activation(op=FUNCTIONS["copy"], data=data, scale=operand0, **kept)
    return _tensor_scalar(data, op0, operand0, *args, **named)


def scaled_by_scalar(op: Any, data: Any) -> bool:
    """Is this a product that the compiler of Beta 1 gives to Scalar?"""
    name = getattr(op, "name", getattr(op, "__name__", ""))
    return name == "multiply" and isinstance(data, Tile) and data.dtype.is_float


scalar_tensor_tensor = _plain(
    "scalar_tensor_tensor", "data op0 operand0 op1 operand1 reverse0 reverse1", "data"
)
tensor_tensor_scan = _plain("tensor_tensor_scan", "data0 data1 initial op0 op1 reverse0 reverse1", "data0")
tensor_scalar_reduce = _plain(
    "tensor_scalar_reduce", "data op0 operand0 reduce_op reduce_res reverse0", "data"
)
tensor_scalar_cumulative = _plain("tensor_scalar_cumulative", "src op0 op1 imm0 imm1 reduce_cmd", "src")
tensor_copy = _plain("tensor_copy", "src", "src")
reciprocal = _plain("reciprocal", "data", "data")
dropout = _plain("dropout", "data prob", "data")
range_select = _plain("range_select", "on_true_tile comp_op0 comp_op1 bound0 bound1", "on_true_tile")
select_reduce = _plain("select_reduce", "predicate on_true on_false", "on_true")
bn_stats = _plain("bn_stats", "data", "data", lambda given: (given["data"].shape[0], 6))
bn_aggr = _plain("bn_aggr", "data", "data", lambda given: (given["data"].shape[0], 2))
max8 = _plain("max8", "src", "src", _eight)
nc_find_index8 = _plain("nc_find_index8", "data vals", "data", _eight, DTYPES["uint32"])
nc_match_replace8 = _plain("nc_match_replace8", "data vals imm dst_idx", "data")
local_gather = _plain(
    "local_gather", "src_buffer index num_elem_per_idx num_valid_indices", "src_buffer",
    lambda given: (*given["index"].shape, 16, given.get("num_elem_per_idx", 1)),
)  # fmt: skip
sequence_bounds = _plain(
    "sequence_bounds", "segment_ids", "segment_ids", lambda given: (1, 2, given["segment_ids"].shape[-1])
)


def get_nc_version() -> Any:
    return today.get_nc_version()


__all__ = [
    "activation", "activation_reduce", "affine_select", "bn_aggr", "bn_stats", "dge_mode", "dma_copy",
    "dma_transpose", "dropout", "engine", "get_nc_version", "gpsimd_engine", "iota", "local_gather", "max8",
    "memset", "nc_find_index8", "nc_match_replace8", "nc_matmul", "nc_stream_shuffle", "nc_transpose",
    "nc_version", "oob_mode", "range_select", "reciprocal", "reduce_cmd", "scalar_engine",
    "scalar_tensor_tensor", "select_reduce", "sequence_bounds", "tensor_copy", "tensor_copy_predicated",
    "tensor_engine", "tensor_partition_reduce", "tensor_reduce", "tensor_scalar",
    "tensor_scalar_cumulative", "tensor_scalar_reduce", "tensor_tensor", "tensor_tensor_scan",
    "unknown_engine", "vector_engine",
]  # fmt: skip
