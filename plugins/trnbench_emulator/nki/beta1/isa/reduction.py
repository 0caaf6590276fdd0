"""Reductions along free dimensions and over partitions."""

from __future__ import annotations

from typing import Any

from trnbench_emulator.nki import isa as today
from trnbench_emulator.nki.beta1.deferred import later
from trnbench_emulator.nki.beta1.mask import box_of
from trnbench_emulator.nki.beta1.pending import settle
from trnbench_emulator.nki.beta1.tile import Tile
from trnbench_emulator.nki.dtype import dtype_of


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
