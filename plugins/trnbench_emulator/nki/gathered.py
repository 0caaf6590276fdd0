"""The values of a view whose addresses are known only when the instruction runs, in functional mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trnbench.errors import KernelError
from trnbench_emulator.nki import site
from trnbench_emulator.nki.memory import Form, Storage
from trnbench_emulator.nki.register import VirtualRegister

_SNAKE = 16  # partitions over which offsets of .indirect() run; 32 for the tensor engine


class Gathered:
    """Reads and writes the elements that an index picks. `step`: elements per unit of the index; `bound`: its
    end."""

    __slots__ = ()

    if TYPE_CHECKING:
        storage: Storage
        form: Form
        offset: int
        index: Any
        step: int
        bound: int

        def _wrong(self, call: str, why: str) -> KernelError: ...

    def positions(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Element positions in the storage, and which of them lie inside."""
        form = self.form
        grids = np.ogrid[tuple(slice(0, n) for n in form.shape)]
        places = np.full(form.shape, self.offset, np.int64)
        for axis, (grid, stride) in enumerate(zip(grids, form.strides, strict=True)):
            if not (axis == 0 and form.indirect == "vector") and not (
                axis == 1 and form.indirect == "column"
            ):
                places = places + grid * stride
        index = self._indices()
        if form.indirect == "scalar":
            inside = np.full(form.shape, bool(0 <= int(index[0]) < self.bound))
            places = places + int(index[0]) * self.step
        else:
            axis = 0 if form.indirect == "vector" else 1
            shape = [1] * len(form.shape)
            shape[axis] = len(index)
            inside = np.broadcast_to(((index >= 0) & (index < self.bound)).reshape(shape), form.shape)
            places = places + index.reshape(shape) * self.step
        total = self.storage.form.nbytes // form.dtype.size
        inside = inside & (places >= 0) & (places < total)
        return np.where(inside, places, 0), inside

    def _indices(self) -> npt.NDArray[np.int64]:
        if isinstance(self.index, VirtualRegister):
            return np.array([self.index.known("an address")], np.int64)
        values: npt.NDArray[np.int64] = self.index.array.astype(np.int64)
        if self.form.indirect == "column":
            rows = min(_SNAKE, values.shape[0])
            flat: npt.NDArray[np.int64] = values.reshape(values.shape[0], -1)[:rows].T.reshape(-1)
            return flat[: self.form.shape[1]]
        if self.form.indirect == "vector":
            # Several columns of indices follow each other, column by column.
            flat = values.reshape(values.shape[0], -1).T.reshape(-1)
            if len(flat) < self.form.shape[0]:
                raise self._wrong("ap", f"{self.form.shape[0]} rows need as many indices, got {len(flat)}")
            return flat[: self.form.shape[0]]
        return values.reshape(-1)[:1]

    def inside(self, call: str, *, skip: bool) -> npt.NDArray[np.bool_]:
        """Which elements are addressed inside the tensor; raises `KernelError` unless `skip`."""
        inside = self.positions()[1]
        if not skip and not inside.all():
            raise KernelError(
                f"{call}: an index is outside {self.storage.form!r}: {self._indices().tolist()[:8]} "
                f"({site.here()})",
                cause=f"indices are 0 to {self.bound - 1} here",
                try_="oob_mode=nisa.oob_mode.skip leaves out what is outside",
            )
        return inside

    @property
    def array(self) -> npt.NDArray[Any]:
        data = self.storage.data
        assert data is not None, "values exist in functional mode only"
        flat: npt.NDArray[Any] = data.view(self.form.dtype.numpy)
        return flat[self.positions()[0]]

    def put(self, values: npt.NDArray[Any]) -> None:
        data = self.storage.data
        assert data is not None
        found, inside = self.positions()
        cast = self.form.dtype.cast(np.asarray(values)).reshape(self.form.shape)
        data.view(self.form.dtype.numpy)[found[inside]] = cast[inside]
