"""The values of a tensor, in functional mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trnbench_emulator.nki.memory import Form, Storage


class Valued:
    """Reads and writes the elements of a view."""

    __slots__ = ()

    storage: Storage
    form: Form
    offset: int

    @property
    def array(self) -> npt.NDArray[Any]:
        """The elements as a NumPy view on the storage."""
        form, data = self.form, self.storage.data
        assert data is not None, "values exist in functional mode only"
        size = form.dtype.size
        return np.ndarray(
            form.shape,
            form.dtype.numpy,
            buffer=data,
            offset=self.offset * size,
            strides=tuple(stride * size for stride in form.strides),
        )

    def floats(self) -> npt.NDArray[np.float32]:
        """The elements in the 32-bit floats that engines compute in."""
        return self.array.astype(np.float32)

    def put(self, values: npt.NDArray[Any]) -> None:
        """Store `values`, rounded to this tensor's type."""
        self.array[...] = self.form.dtype.cast(np.asarray(values)).reshape(self.form.shape)
        if self.storage.written is not None:
            self._marks()[...] = True

    def written(self) -> npt.NDArray[np.bool_]:
        """Which of these PSUM elements hold a value."""
        marks: npt.NDArray[np.bool_] = self._marks()[..., 0]
        return marks

    def _marks(self) -> npt.NDArray[np.bool_]:
        assert self.storage.written is not None
        size = self.form.dtype.size
        return np.ndarray(
            (*self.form.shape, size),
            np.bool_,
            buffer=self.storage.written,
            offset=self.offset * size,
            strides=(*(stride * size for stride in self.form.strides), 1),
        )
