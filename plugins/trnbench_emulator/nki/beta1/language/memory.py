"""Tiles and tensors that a Beta 1 kernel makes, loads, stores and copies."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from trnbench.errors import KernelError
from trnbench_emulator.nki import isa, site
from trnbench_emulator.nki import language as today
from trnbench_emulator.nki.beta1.deferral import line_of, settle
from trnbench_emulator.nki.beta1.grid import LAUNCH
from trnbench_emulator.nki.beta1.index import box_of, leaves_nothing, turned
from trnbench_emulator.nki.beta1.operation import broadcast_to, copy, in_sbuf
from trnbench_emulator.nki.beta1.root import Root, shaped
from trnbench_emulator.nki.beta1.tile import Tile, later
from trnbench_emulator.nki.dtype import DTYPES, dtype_of
from trnbench_emulator.nki.memory import Buffer
from trnbench_emulator.nki.tensor import IndirectTensor

_FP32 = DTYPES["float32"]


def _buffer(given: Any) -> Buffer:
    given = Buffer.SBUF if given is None else getattr(given, "buffer", given)
    try:
        return Buffer(given)
    except ValueError:
        raise KernelError(f"ndarray: {given!r} is no buffer ({site.here()})") from None


def ndarray(shape: Any, dtype: Any, *, name: str = "", buffer: Any = None, **_: Any) -> Tile:
    """A tensor nobody wrote yet; nl.par_dim marks the partition, dimensions before it are blocks."""
    settle()
    memory = _buffer(buffer)
    sizes, axis = shaped(shape, memory)
    kind = dtype_of(dtype)
    root = Root(sizes, axis, kind, memory, name)
    root.place = line_of(sys._getframe(1))
    return Tile.of(root if axis >= 0 else LAUNCH.shared(lambda: root, memory))


def full(shape: Any, fill_value: Any, dtype: Any, **named: Any) -> Tile:
    """A tile filled by memset, block by block as they are used; zeros in PSUM cost nothing, since the first
    product overwrites."""
    tile = ndarray(shape, dtype, **named)
    if tile.on_chip:
        tile.root.fill = fill_value
    return tile


def zeros(shape: Any, dtype: Any, **named: Any) -> Tile:
    return full(shape, 0, dtype, **named)


def ones(shape: Any, dtype: Any, **named: Any) -> Tile:
    return full(shape, 1, dtype, **named)


def zeros_like(a: Tile, dtype: Any = None, *, buffer: Any = None, **named: Any) -> Tile:
    return zeros(a.shape, dtype or a.dtype, buffer=buffer or a.buffer, **named)


def empty_like(a: Tile, dtype: Any = None, *, buffer: Any = None, **named: Any) -> Tile:
    return ndarray(a.shape, dtype or a.dtype, buffer=buffer or a.buffer, **named)


def rand(shape: Any, dtype: Any = _FP32, **_: Any) -> Tile:
    settle()
    return Tile.holding(today.rand(tuple(shape), dtype))


def random_seed(seed: Any, **_: Any) -> None:
    settle()
    if isinstance(seed, Tile):
        today.random_seed(seed.operand())


def shared_constant(constant: Any, dtype: Any = None, **_: Any) -> Tile:
    settle()
    values = np.asarray(constant)
    return Tile.holding(today.shared_constant(values if dtype is None else dtype_of(dtype).cast(values)))


def shared_identity_matrix(n: int, dtype: Any = DTYPES["uint8"], **_: Any) -> Tile:
    """A constant in HBM, as `shared_constant` gives one: nl.load brings it in."""
    return shared_constant(np.eye(n, dtype=np.float32), dtype)


def load(src: Tile, *, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """A tile in SBUF with what `src` picks of a tensor in HBM."""
    if src.on_chip:
        raise KernelError(
            f"nl.load reads HBM, and {src!r} is on the chip already ({site.here()})",
            try_="the tile itself, or nl.copy(tile)",
        )

    def issue(dst: Tile) -> None:
        if not leaves_nothing(mask, src.shape):
            isa.dma_copy(dst.overwritten(src, mask), src.operand(mask))

    return later(src.shape or (1,), dtype or src.dtype, issue, into=(Buffer.SBUF,), transfer=True)


def load_transpose2d(src: Tile, *, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    settle()
    if box_of(mask, src.shape) == box_of(None, src.shape):
        return Tile.holding(today.load_transpose2d(src.operand(mask), dtype))

    def issue(dst: Tile) -> None:
        if not leaves_nothing(mask, src.shape):
            part = Tile.holding(today.load_transpose2d(src.operand(mask), dtype))
            isa.tensor_copy(dst.operand(turned(mask)), part.operand())

    return later(src.shape[::-1], dtype or src.dtype, issue, into=(Buffer.SBUF,))


def _source(value: Any, dst: Tile) -> Tile:
    """What goes to `dst` in HBM, in SBUF: a tile, or a number as often as `dst` has elements."""
    settle()
    if not isinstance(value, Tile):
        value = full((128, 1), value, dst.dtype)
        value = broadcast_to(value[0 : dst.shape[0]], (dst.shape[0], *dst.shape[1:]))
        settle()
    return in_sbuf(value)


def store(dst: Tile, value: Any, *, mask: Any = None, **_: Any) -> None:
    """Copy a tile to HBM, through SBUF where it is in PSUM."""
    value = _source(value, dst)
    if leaves_nothing(mask, dst.shape):
        return
    target = dst if dst.over or dst.ndim == value.ndim else dst.fitted(value.shape)
    target = dst if target is None else target
    source = value.fitted(target.shape)
    dst.root.written = True
    isa.dma_copy(target.operand(mask), (value if source is None else source).operand(mask))


def atomic_rmw(dst: Tile, value: Any, op: Any, *, mask: Any = None, **_: Any) -> None:
    """Add to rows of HBM that a tile of indices picks; what goes to one row is all added."""
    value = _source(value, dst)
    if leaves_nothing(mask, dst.shape):
        return
    target = dst.operand(mask)
    if not isinstance(target, IndirectTensor):
        raise KernelError(
            f"atomic_rmw: no tile of indices picks {dst!r} ({site.here()})",
            cause="it takes indirect indices alone",
            try_="nl.atomic_rmw(tensor[indices, nl.arange(512)[None, :]], value, op=np.add)",
        )
    dst.root.written = True
    isa.dma_compute(target, [target, value.operand(mask)], op, _atomic=True)


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
    sizes = indices.shape
    if box_of(mask, sizes) == box_of(None, sizes):
        return Tile.holding(today.gather_flattened(data.operand(), indices.operand(), dtype=dtype))

    def issue(dst: Tile) -> None:
        if not leaves_nothing(mask, sizes):
            whole = Tile.holding(today.gather_flattened(data.operand(), indices.operand(), dtype=dtype))
            isa.tensor_copy(dst.operand(mask), whole.operand(mask))

    return later(sizes, dtype or data.dtype, issue, into=(Buffer.SBUF,))
