"""What a Beta 1 tensor is made of: one tensor in HBM, or a tile of SBUF or PSUM for each block."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any

from trnbench.errors import KernelError
from trnbench_emulator.nki import isa, site
from trnbench_emulator.nki.dtype import DType, Sizes
from trnbench_emulator.nki.memory import Buffer, Form, Life, Storage, checked_shape, intern, row_major
from trnbench_emulator.nki.recorder import current
from trnbench_emulator.nki.recording import STATE
from trnbench_emulator.nki.tensor import NkiTensor


class ParDim(int):
    """nl.par_dim(size): the dimension that becomes the partitions."""


class Root:
    """Dimensions before the partition (`axis`) number blocks: tiles of their own, made when first used.

    The compiler of Beta 1 chooses where tiles are and how long; more of them than fit are spilled by
    it, so that capacity is no rule here.
    """

    __slots__ = (
        "_tiles",
        "axis",
        "buffer",
        "dtype",
        "fill",
        "name",
        "place",
        "shape",
        "strides",
        "total",
        "written",
    )

    def __init__(self, shape: Sizes, axis: int, dtype: DType, buffer: Buffer, name: str = "") -> None:
        self.shape = shape
        self.axis = axis  # -1 in HBM
        self.dtype = dtype
        self.buffer = buffer
        self.name = name
        self.fill: Any = None  # what a tile holds when it is made
        self.place: site.Place | None = None  # the line that asks for it, where not its first use
        self.total = ""  # the tile that this product was added to, where it was
        self.written = False
        self._tiles: dict[int, NkiTensor] = {}
        self.strides = _strides(shape, max(axis, 0))

    @classmethod
    def holding(cls, tensor: NkiTensor) -> Root:
        """For a tensor that exists: an argument in HBM, or a tile that today's calls have made."""
        axis = 0 if tensor.form.on_chip else -1
        root = cls(tensor.shape, axis, tensor.dtype, tensor.buffer, tensor.name)
        root._tiles[0] = tensor
        return root

    def tile(self, block: int) -> NkiTensor:
        tile = self._tiles.get(block)
        if tile is None:
            if self.total:
                raise KernelError(
                    f"a product that was added to {self.total} is used again ({site.here()})",
                    cause="it was added up where it is computed, and has no tile of its own",
                    try_="copy = nl.copy(product), then add the copy and use it",
                )
            tile = self._tiles[block] = self._made()
        return tile

    def holds_nothing(self, block: int) -> bool:
        """Is it sure that nobody wrote to this block?"""
        return self.fill is None and block not in self._tiles

    def renew(self, block: int) -> None:
        """Let what comes be written to another place: nobody reads what is there any more."""
        if block in self._tiles and current().assumes("renaming"):
            self._tiles[block] = self._made(filled=False)

    def _made(self, *, filled: bool = True) -> NkiTensor:
        recorder = current()
        if self.axis < 0:
            tensor = recorder.allocate(self.shape, self.dtype, self.buffer, self.name)
            tensor.storage.life.site = self.place or tensor.storage.life.site
            return tensor
        form = _form(self.shape, self.axis, self.dtype, self.buffer)
        recorder.check_fits(form, self.name)
        line = self.place or STATE.place or recorder.places.of(sys._getframe(1))
        life = Life(recorder.count, form.row_bytes, line)
        tile = NkiTensor(recorder.filled(Storage(form, self.name, life, None, form.free)), form, 0)
        if filled and self.fill is not None:
            self._filled(tile)
        return tile

    def _filled(self, tile: NkiTensor) -> None:
        """By memset; but zeros in PSUM are free: the first product does not add, it overwrites."""
        if self.buffer is Buffer.PSUM and self.fill == 0 and current().assumes("zero-elision"):
            if tile.storage.data is not None:
                tile.storage.data[:] = 0
        else:
            isa.memset(tile, self.fill)
        shadow = current().shadow
        if shadow is not None:
            shadow.filled(tile)


@lru_cache(maxsize=1 << 12)
def _form(shape: Sizes, axis: int, dtype: DType, buffer: Buffer) -> Form:
    """Of a block on chip."""
    sizes = shape[axis:] if len(shape) > axis + 1 else (*shape[axis:], 1)
    return intern(buffer, dtype, sizes, _strides(sizes, 0))


@lru_cache(maxsize=1 << 12)
def _strides(shape: Sizes, first: int) -> Sizes:
    """In elements, each row after the other; of the dimensions before `first` in blocks."""
    return row_major(shape[:first]) + row_major(shape[first:])


def shaped(shape: Any, buffer: Buffer) -> tuple[Sizes, int]:
    """Sizes, and which of them is the partition: the one marked by nl.par_dim, else the first."""
    if isinstance(shape, int):
        shape = (shape,)
    entries = shape if isinstance(shape, list) else tuple(shape)
    marked = [at for at, entry in enumerate(entries) if isinstance(entry, ParDim)]
    if len(marked) > 1:
        raise KernelError(f"shape {list(entries)} has {len(marked)} partition dimensions ({site.here()})")
    sizes = checked_shape(entries)
    if buffer not in (Buffer.SBUF, Buffer.PSUM):
        return sizes, -1
    return sizes, marked[0] if marked else 0
