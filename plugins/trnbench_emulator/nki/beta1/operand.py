"""A tile of Beta 1 as an operand of today's instructions."""

from __future__ import annotations

from typing import Any

from trnbench.errors import KernelError
from trnbench_emulator.nki import site
from trnbench_emulator.nki.beta1.index import Grid
from trnbench_emulator.nki.beta1.mask import box_of
from trnbench_emulator.nki.beta1.view import BLOCK, FREE, PARTITION, View
from trnbench_emulator.nki.memory import Form, intern
from trnbench_emulator.nki.tensor import IndirectTensor, NkiTensor


def operand_of(tile: View, mask: Any = None) -> NkiTensor:
    """What instructions of today's NKI take: partition first, inside the mask's box.

    Raises `KernelError` where the mask leaves nothing, the tile spans blocks, or an index leaves the tensor.
    """
    if mask is None and not tile.over and tile.rows is None:
        root = tile.root
        key = (root.buffer, tile.dtype, tile.shape, tile.strides, tile.kinds)
        form = _FORMS.get(key)
        if form is None and (not tile.on_chip or PARTITION in tile.kinds) and BLOCK not in tile.kinds:
            if len(_FORMS) >= _MOST:
                _FORMS.clear()
            form = _FORMS[key] = _masked(tile, None).form
        if form is not None:
            base = root.tile(tile.block)
            return NkiTensor(base.storage, form, base.offset + tile.offset)
    return _masked(tile, mask)


_FORMS: dict[Any, Form] = {}
"""Of operands that no mask cuts."""
_MOST = 1 << 14


def _masked(tile: View, mask: Any) -> NkiTensor:
    box = box_of(mask, tile.shape)
    if box is None:
        raise KernelError(f"the mask leaves nothing of {tile!r} ({site.here()})")
    for where, size in tile.over:
        _inside(tile, where, size, box)
    sizes, strides, offset = [], [], tile.offset
    first: tuple[int, int] | None = None
    for (low, high), stride, kind in zip(box, tile.strides, tile.kinds, strict=True):
        offset += low * stride if kind != BLOCK else 0
        if kind == PARTITION:
            first = (high - low, stride)
        elif kind == FREE:
            sizes.append(high - low)
            strides.append(stride)
        elif high - low > 1:
            raise KernelError(
                f"{tile!r} spans {high - low} blocks ({site.here()})",
                cause="an instruction works on one tile: a partition and free dimensions",
                try_="index the dimensions before nl.par_dim with numbers",
            )
    base = tile.root.tile(tile.block)
    if tile.on_chip:
        count, step = first or (1, tile.root.strides[tile.root.axis])
        shape, steps = (count, *(sizes or [1])), (step, *(strides or [1]))
    else:
        shape, steps = tuple(sizes) or (1,), tuple(strides) or (1,)
    if tile.rows is not None:
        index, pace, count = tile.rows
        form = intern(tile.buffer, tile.dtype, shape, steps, "vector")
        return IndirectTensor(
            base.storage, form, base.offset + offset, index=index.operand(mask), step=pace, bound=count
        )
    return NkiTensor(base.storage, intern(tile.buffer, tile.dtype, shape, steps), base.offset + offset)


def _inside(tile: View, where: Grid, size: int, box: tuple[tuple[int, int], ...]) -> None:
    low = high = where.const
    for coefficient, (start, end) in zip(where.coefficients, box, strict=True):
        ends = coefficient * start, coefficient * (end - 1)
        low, high = low + min(ends), high + max(ends)
    if low < 0 or high >= size:
        raise KernelError(
            f"index {low if low < 0 else high} is outside a dimension of size {size} of {tile!r} "
            f"({site.here()})",
            try_="keep the index inside with a mask: mask=index < size",
        )
