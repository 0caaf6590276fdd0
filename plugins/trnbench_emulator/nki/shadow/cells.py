"""Cells: for each byte of one storage, the number of the instruction that wrote it.

0 is a byte that nobody wrote. A negative number is one whose value depends on such bytes. Numbers are kept
per element, and per byte only where the kernel looks at a tile as another type; of a storage that one
instruction wrote wholly there is a single number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from trnbench_emulator.nki.memory import Form, Storage

Numbers = npt.NDArray[np.int32]


class Cells:
    """`uniform` counts where `array` is None. `granule`: bytes per number. `sound`: no number below 1."""

    __slots__ = ("__weakref__", "array", "granule", "nbytes", "neighbours", "sound", "uniform")

    def __init__(self, storage: Storage, number: int = 0) -> None:
        self.granule = storage.form.dtype.size
        self.nbytes = storage.form.nbytes
        self.uniform = number
        self.array: Numbers | None = None
        self.sound = number > 0
        self.neighbours: list[Any] = []  # of tiles placed by hand: those that share bytes with it

    def numbers(self, form: Form, offset: int) -> Numbers:
        """Those of a view that is not indirect, with one more dimension where an element has several."""
        array = self._whole(form.dtype.size)
        size, width = form.dtype.size // self.granule, array.itemsize
        shape, strides = form.shape, tuple(stride * size * width for stride in form.strides)
        if size > 1:
            shape, strides = (*shape, size), (*strides, width)
        return np.ndarray(shape, np.int32, buffer=array, offset=offset * size * width, strides=strides)

    def elements(self, size: int) -> Numbers:
        """All of them, a row for each element of `size` bytes."""
        return self._whole(size).reshape(-1, size // self.granule)

    def _whole(self, size: int) -> Numbers:
        array = self.array
        if array is None:
            self.granule = min(self.granule, size)
            array = self.array = np.full(self.nbytes // self.granule, self.uniform, np.int32)
        elif size < self.granule:
            array = self.array = np.repeat(array, self.granule // size)
            self.granule = size
        return array

    def fill(self, number: int) -> None:
        """All of the storage was written by one instruction."""
        self.array, self.uniform, self.sound = None, number, number > 0

    def covers(self, form: Form) -> bool:
        """Is a view of this form, without gaps, all of the storage?"""
        return form.nbytes == self.nbytes and not form.indirect
