"""Tensors: allocating them, and moving them between HBM and SBUF."""

from __future__ import annotations

from typing import Any

from trnbench.errors import KernelError
from trnbench.nki import isa, site
from trnbench.nki.dtype import DType, dtype_of
from trnbench.nki.memory import Buffer
from trnbench.nki.recorder import current
from trnbench.nki.tensor import NkiTensor

sbuf = Buffer.SBUF
psum = Buffer.PSUM
hbm = Buffer.HBM
private_hbm = Buffer.PRIVATE_HBM
shared_hbm = Buffer.SHARED_HBM


def ndarray(
    shape: Any, dtype: Any, buffer: Buffer | str = sbuf, name: str = "", address: Any = None
) -> NkiTensor:
    """A tensor whose elements nobody wrote yet: they read as NaN. On chip dimension 0 is the partition."""
    recorder = current()
    if type(dtype) is not DType:
        dtype = dtype_of(dtype)
    if type(buffer) is not Buffer:
        try:
            buffer = Buffer(buffer)
        except ValueError:
            raise KernelError(
                f"ndarray: {buffer!r} is no buffer ({site.here()})",
                cause=f"known: {', '.join(f'nl.{each}' for each in Buffer)}",
            ) from None
    if address is not None:
        raise KernelError(
            f"ndarray: address= is not emulated ({site.here()})", try_="leave the placement to the allocator"
        )
    return recorder.allocate(shape, dtype, buffer, name)


def zeros(shape: Any, dtype: Any, buffer: Buffer | str = sbuf, name: str = "") -> NkiTensor:
    """A tensor on chip filled with zeros by nisa.memset."""
    tensor = ndarray(shape, dtype, buffer, name)
    isa.memset(tensor, 0)
    return tensor


def ones(shape: Any, dtype: Any, buffer: Buffer | str = sbuf, name: str = "") -> NkiTensor:
    """A tensor on chip filled with ones by nisa.memset."""
    tensor = ndarray(shape, dtype, buffer, name)
    isa.memset(tensor, 1)
    return tensor


def load(src: NkiTensor, dtype: Any = None) -> NkiTensor:
    """A new SBUF tile with the elements of an HBM tensor; its first dimension becomes the partition."""
    shape = src.form.shape if len(src.form.shape) > 1 else (src.form.shape[0], 1)
    tile = ndarray(shape, src.form.dtype if dtype is None else dtype, sbuf)
    isa.dma_copy(tile, src)
    return tile


def store(dst: NkiTensor, value: NkiTensor) -> None:
    """Copy a tile to HBM."""
    isa.dma_copy(dst, value)
