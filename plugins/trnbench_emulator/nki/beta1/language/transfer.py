"""Tiles from HBM and back, copies, and what is printed or gathered."""

# ruff: noqa: ARG001 - the signatures are NKI's, whole; not every argument changes what is modelled

from __future__ import annotations

from typing import Any

import numpy as np

from trnbench_emulator.nki import isa
from trnbench_emulator.nki import language as today
from trnbench_emulator.nki.beta1.copying import copy
from trnbench_emulator.nki.beta1.deferred import later
from trnbench_emulator.nki.beta1.language.creation import full
from trnbench_emulator.nki.beta1.made import made_of
from trnbench_emulator.nki.beta1.mask import box_of
from trnbench_emulator.nki.beta1.operation import broadcast_to
from trnbench_emulator.nki.beta1.pending import settle
from trnbench_emulator.nki.beta1.tile import Tile
from trnbench_emulator.nki.dtype import dtype_of
from trnbench_emulator.nki.memory import Buffer


def load(src: Tile, *, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """A tile in SBUF with what `src` picks of a tensor in HBM."""

    def issue(dst: Tile) -> None:
        if box_of(mask, src.shape) is not None:
            isa.dma_copy(dst.overwritten(src, mask), src.operand(mask))

    kind = src.dtype if dtype is None else dtype_of(dtype)
    return later(src.shape or (1,), kind, issue, into=(Buffer.SBUF,))


def load_transpose2d(src: Tile, *, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    settle()
    return made_of(today.load_transpose2d(src.operand(mask), dtype))


def store(dst: Tile, value: Any, *, mask: Any = None, **_: Any) -> None:
    """Copy a tile to HBM, through SBUF where it is in PSUM."""
    settle()
    if not isinstance(value, Tile):
        value = full((128, 1), value, dst.dtype)
        value = broadcast_to(value[0 : dst.shape[0]], (dst.shape[0], *dst.shape[1:]))
        settle()
    if value.buffer is Buffer.PSUM:
        value = copy(value)
        settle()
    box = box_of(mask, dst.shape)
    if box is None:
        return
    target = dst if dst.over or dst.ndim == value.ndim else dst.fitted(value.shape) or dst
    source = value if value.shape == target.shape else value.fitted(target.shape) or value
    dst.root.written = True
    isa.dma_copy(target.operand(mask), source.operand(mask))


def static_cast(value: Any, dtype: Any) -> Any:
    """A tile or an array as another type."""
    if isinstance(value, Tile):
        return copy(value, dtype=dtype)
    return dtype_of(dtype).cast(np.asarray(value))


def device_print(print_prefix: str, x: Tile, **_: Any) -> None:
    settle()
    today.device_print(print_prefix, x.operand())


def gather_flattened(data: Tile, indices: Tile, *, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    settle()
    return made_of(today.gather_flattened(data.operand(), indices.operand(), dtype=dtype))
