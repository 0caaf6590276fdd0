"""Tensors: allocating and filling them, constants, and moving them between HBM and SBUF."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from trnbench.errors import KernelError
from trnbench.record import Record
from trnbench_emulator.nki import isa, site
from trnbench_emulator.nki.constraints import Rules
from trnbench_emulator.nki.dtype import DTYPES, DType, dtype_of
from trnbench_emulator.nki.memory import Buffer
from trnbench_emulator.nki.recorder import current
from trnbench_emulator.nki.tensor import NkiTensor

sbuf = Buffer.SBUF
psum = Buffer.PSUM
hbm = Buffer.HBM
private_hbm = Buffer.PRIVATE_HBM
shared_hbm = Buffer.SHARED_HBM

_BITS = 2.0**-32


def ndarray(
    shape: Any, dtype: Any, buffer: Buffer | str = sbuf, name: str = "", address: Any = None
) -> NkiTensor:
    """A tensor whose elements nobody wrote yet: they read as NaN. On chip dimension 0 is the partition.

    `address` (partition, byte) places a tile by hand: what overlaps it there depends on it.
    """
    recorder = current()
    if type(dtype) is not DType:
        dtype = dtype_of(dtype)
    if type(buffer) is not Buffer:
        try:
            buffer = Buffer(buffer)
        except ValueError:
            raise KernelError(
                f"ndarray: {buffer!r} is no buffer ({site.here()})",
                cause=f"known: {', '.join(f'nl.{known_buffer}' for known_buffer in Buffer)}",
            ) from None
    return recorder.allocate(shape, dtype, buffer, name, address)


class Memory(Record):
    """`sbuf`, `psum` and `hbm` as keywords of NKI 0.1, which a kernel uses without importing them."""

    buffer: Buffer

    def view(self, dtype: Any, shape: Any, name: str = "") -> NkiTensor:
        """A tensor there, as of `nl.ndarray`."""
        return ndarray(shape, dtype, self.buffer, name)


KEYWORDS = {"sbuf": Memory(sbuf), "psum": Memory(psum), "hbm": Memory(shared_hbm)}


def full(shape: Any, fill_value: Any, dtype: Any, buffer: Buffer | str = sbuf, name: str = "") -> NkiTensor:
    """A tensor on chip filled by nisa.memset."""
    tensor = ndarray(shape, dtype, buffer, name)
    fill(tensor, fill_value, "full")
    return tensor


def fill(tensor: NkiTensor, value: Any, call: str) -> None:
    """Set all elements to a number that their type holds."""
    Rules(call, current().machine).constant(tensor.dtype, value, cast=True)
    isa.memset(tensor, value)


def zeros(shape: Any, dtype: Any, buffer: Buffer | str = sbuf, name: str = "") -> NkiTensor:
    """A tensor on chip filled with zeros by nisa.memset."""
    return full(shape, 0, dtype, buffer, name)


def ones(shape: Any, dtype: Any, buffer: Buffer | str = sbuf, name: str = "") -> NkiTensor:
    """A tensor on chip filled with ones by nisa.memset."""
    return full(shape, 1, dtype, buffer, name)


def empty_like(x: NkiTensor, dtype: Any = None, buffer: Any = None, name: str = "") -> NkiTensor:
    """A tensor of the same shape; of the same type and buffer unless told otherwise."""
    return ndarray(x.shape, dtype or x.dtype, buffer or x.buffer, name)


def zeros_like(x: NkiTensor, dtype: Any = None, buffer: Any = None, name: str = "") -> NkiTensor:
    """`empty_like`, filled with zeros."""
    return zeros(x.shape, dtype or x.dtype, buffer or x.buffer, name)


def rand(shape: Any, dtype: Any, buffer: Buffer | str = sbuf, name: str = "") -> NkiTensor:
    """Uniform numbers from 0 to 1: nisa.rng, scaled."""
    bits = ndarray(shape, DTYPES["uint32"], sbuf)
    isa.rng(bits)
    tensor = ndarray(shape, dtype, buffer, name)
    isa.tensor_scalar(tensor, bits, np.multiply, _BITS)
    return tensor


def random_seed(seed: NkiTensor) -> None:
    """Start the generator of `rand` from a 1 × 1 tile."""
    isa.set_rng_seed(seed)


def shared_constant(constant: Any) -> NkiTensor:
    """A constant in HBM: an array, or a .npy file. It is there before the kernel starts."""
    recorder = current()
    if isinstance(constant, (str, Path)):
        try:
            constant = np.load(constant, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise KernelError(
                f"shared_constant: {constant} cannot be read: {error} ({site.here()})"
            ) from None
    values = np.asarray(constant)
    tensor = recorder.allocate(values.shape or (1,), dtype_of(values.dtype), Buffer.HBM, "constant")
    recorder.fill(tensor, values)
    return tensor


def shared_identity_matrix(n: int, dtype: Any = DTYPES["uint8"], dst: NkiTensor | None = None) -> NkiTensor:
    """An n × n identity in SBUF, loaded from a constant; one per size and type, unless `dst` is given."""
    recorder = current()
    kind = dtype_of(dtype) if dst is None else dst.dtype
    identity = recorder.identities.get((n, kind))
    if dst is None and identity is not None:
        return identity
    source = recorder.allocate((n, n), kind, Buffer.HBM, "identity")
    recorder.fill(source, np.eye(n, dtype=np.float32))
    tile = ndarray((n, n), kind, sbuf) if dst is None else dst
    isa.dma_copy(tile, source)
    if dst is None:
        recorder.constant((n, kind), tile)
    return tile


def load(src: NkiTensor, dtype: Any = None) -> NkiTensor:
    """A new SBUF tile with the elements of an HBM tensor; its first dimension becomes the partition."""
    shape = src.form.shape if len(src.form.shape) > 1 else (src.form.shape[0], 1)
    tile = ndarray(shape, src.form.dtype if dtype is None else dtype, sbuf)
    isa.dma_copy(tile, src)
    return tile


def load_transpose2d(src: NkiTensor, dtype: Any = None) -> NkiTensor:
    """A new SBUF tile with the transpose of an HBM matrix, turned on the way by DMA."""
    if len(src.shape) != 2:
        raise KernelError(f"load_transpose2d: {src!r} has {len(src.shape)} dimensions, not 2 ({site.here()})")
    tile = ndarray(src.shape[::-1], src.dtype, sbuf)
    isa.dma_transpose(tile, src)
    return tile if dtype is None or dtype_of(dtype) is src.dtype else copied(tile, dtype)


def copied(src: NkiTensor, dtype: Any) -> NkiTensor:
    """A new SBUF tile with the elements of another tile."""
    tile = ndarray(src.shape, dtype, sbuf)
    isa.tensor_copy(tile, src)
    return tile


def store(dst: NkiTensor, value: NkiTensor) -> None:
    """Copy a tile to HBM."""
    isa.dma_copy(dst, value)


def is_sbuf(buffer: Any) -> bool:
    return _buffer(buffer) is sbuf


def is_psum(buffer: Any) -> bool:
    return _buffer(buffer) is psum


def is_hbm(buffer: Any) -> bool:
    return _buffer(buffer) in (hbm, private_hbm, shared_hbm)


def is_on_chip(buffer: Any) -> bool:
    return _buffer(buffer) in (sbuf, psum)


def _buffer(given: Any) -> Buffer | None:
    if isinstance(given, NkiTensor):
        return given.buffer
    try:
        return Buffer(given)
    except ValueError:
        return None
