"""Tensors that a call makes: uninitialised, filled, constant, random."""

from __future__ import annotations

from typing import Any

import numpy as np

from trnbench.errors import KernelError
from trnbench_emulator.nki import language as today
from trnbench_emulator.nki import site
from trnbench_emulator.nki.beta1.grid import LAUNCH
from trnbench_emulator.nki.beta1.made import made_of
from trnbench_emulator.nki.beta1.pending import settle
from trnbench_emulator.nki.beta1.root import Root, shaped
from trnbench_emulator.nki.beta1.tile import Tile
from trnbench_emulator.nki.dtype import DTYPES, DType, dtype_of
from trnbench_emulator.nki.memory import Buffer

_FP32 = DTYPES["float32"]


def _buffer(given: Any, default: Buffer = Buffer.SBUF) -> Buffer:
    given = default if given is None else getattr(given, "buffer", given)
    try:
        return Buffer(given)
    except ValueError:
        raise KernelError(f"ndarray: {given!r} is no buffer ({site.here()})") from None


def ndarray(shape: Any, dtype: Any, *, name: str = "", buffer: Any = None, **_: Any) -> Tile:
    """A tensor nobody wrote yet; nl.par_dim marks the partition, dimensions before it are blocks."""
    settle()
    where = _buffer(buffer)
    sizes, axis = shaped(shape, where)
    root = shared_root(sizes, dtype_of(dtype), where, name) if axis < 0 else None
    return Tile.of(root or Root(sizes, axis, dtype_of(dtype), where, name))


def shared_root(sizes: tuple[int, ...], dtype: DType, where: Buffer, name: str) -> Root:
    """A tensor in HBM: programs of one launch that allocate it in turn get the same one."""
    return LAUNCH.shared(lambda: Root(sizes, -1, dtype, where, name), where)


def full(shape: Any, fill_value: Any, dtype: Any, *, buffer: Any = None, name: str = "", **_: Any) -> Tile:
    """A tile filled by memset, block by block as they are used; zeros in PSUM cost nothing, since the first
    product overwrites."""
    tile = ndarray(shape, dtype, buffer=buffer, name=name)
    if tile.on_chip:
        tile.root.fill = fill_value
    return tile


def zeros(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "", **_: Any) -> Tile:
    return full(shape, 0, dtype, buffer=buffer, name=name)


def ones(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "", **_: Any) -> Tile:
    return full(shape, 1, dtype, buffer=buffer, name=name)


def zeros_like(a: Tile, dtype: Any = None, *, buffer: Any = None, name: str = "", **_: Any) -> Tile:
    return zeros(a.shape, dtype or a.dtype, buffer=buffer or a.buffer, name=name)


def empty_like(a: Tile, dtype: Any = None, *, buffer: Any = None, name: str = "", **_: Any) -> Tile:
    return ndarray(a.shape, dtype or a.dtype, buffer=buffer or a.buffer, name=name)


def rand(shape: Any, dtype: Any = _FP32, **_: Any) -> Tile:
    settle()
    return made_of(today.rand(tuple(shape), dtype))


def random_seed(seed: Any, **_: Any) -> None:
    settle()
    if isinstance(seed, Tile):
        today.random_seed(seed.operand())


def shared_constant(constant: Any, dtype: Any = None, **_: Any) -> Tile:
    settle()
    values = np.asarray(constant)
    return made_of(today.shared_constant(values if dtype is None else dtype_of(dtype).cast(values)))


def shared_identity_matrix(n: int, dtype: Any = DTYPES["uint8"], **_: Any) -> Tile:
    settle()
    return made_of(today.shared_identity_matrix(n, dtype))
