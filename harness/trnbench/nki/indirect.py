"""Views whose addresses are known only when the instruction runs: gather and scatter."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trnbench.errors import KernelError
from trnbench.nki import site
from trnbench.nki.dtype import DType
from trnbench.nki.memory import intern
from trnbench.nki.recorder_state import STATE
from trnbench.nki.register import VirtualRegister
from trnbench.nki.tensor import NkiTensor

_SNAKE = 16  # partitions over which offsets of .indirect() run; 32 for the tensor engine
COLUMN_SINCE = 4  # NeuronCore-v4


class IndirectTensor(NkiTensor, eq=False, kw_only=True):
    """A view plus where its index comes from. `step`: elements per unit of the index; `bound`: its end."""

    index: Any
    step: int
    bound: int

    def __post_init__(self) -> None:
        if STATE.recorder is not None:
            STATE.recorder.indirect = STATE.recorder.careful = True

    def __getitem__(self, index: Any) -> NkiTensor:
        keys = index if isinstance(index, tuple) else (index,)
        if self.form.indirect != "scalar" and keys and keys[0] not in (slice(None), Ellipsis):
            raise self._wrong("slicing", "the dimension that is addressed at run time cannot be sliced")
        return self._like(super().__getitem__(index))

    def _as(self, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> NkiTensor:
        return self._like(super()._as(dtype, shape, strides, offset))

    def _like(self, view: NkiTensor) -> NkiTensor:
        return IndirectTensor(
            view.storage, view.form, view.offset, index=self.index, step=self.step, bound=self.bound
        )

    # Values -------------------------------------------------------------------------------------

    def positions(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Element positions in the storage, and which of them lie inside."""
        form = self.form
        grids = np.ogrid[tuple(slice(0, n) for n in form.shape)]
        found = np.full(form.shape, self.offset, np.int64)
        for axis, (grid, stride) in enumerate(zip(grids, form.strides, strict=True)):
            if not (axis == 0 and form.indirect == "vector") and not (
                axis == 1 and form.indirect == "column"
            ):
                found = found + grid * stride
        index = self._indices()
        if form.indirect == "scalar":
            inside = np.full(form.shape, bool(0 <= int(index[0]) < self.bound))
            found = found + int(index[0]) * self.step
        else:
            axis = 0 if form.indirect == "vector" else 1
            shape = [1] * len(form.shape)
            shape[axis] = len(index)
            inside = np.broadcast_to(((index >= 0) & (index < self.bound)).reshape(shape), form.shape)
            found = found + index.reshape(shape) * self.step
        total = self.storage.form.nbytes // form.dtype.size
        inside = inside & (found >= 0) & (found < total)
        return np.where(inside, found, 0), inside

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


def scalar_indirect(
    base: NkiTensor, index: Any, dim: int, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...]
) -> IndirectTensor:
    """All of the pattern moved by one index times the stride of `dim`."""
    if not isinstance(index, (NkiTensor, VirtualRegister)):
        raise base._wrong("ap", f"scalar_offset is {type(index).__name__}, it must be a register or a tile")
    if isinstance(index, NkiTensor) and index.form.elements != 1:
        raise base._wrong("ap", f"scalar_offset has shape {list(index.form.shape)}, it must be (1, 1)")
    return _make(base, index, dim, dtype, shape, strides, "scalar")


def vector_indirect(
    base: NkiTensor,
    index: NkiTensor,
    dim: int,
    dtype: DType,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
) -> IndirectTensor:
    """Row `index[p]` of dimension `dim` for every p of the pattern's first dimension."""
    if base.form.on_chip:
        raise base._wrong("ap", "vector_offset addresses tensors in HBM")
    return _make(base, index, dim, dtype, shape, strides, "vector")


def column_indirect(base: NkiTensor, index: NkiTensor, count: int | None) -> IndirectTensor:
    """Free offsets from `index`, offset i at [i % 16, i // 16]."""
    recorder = STATE.recorder
    if recorder is not None and recorder.machine.nc_version < COLUMN_SINCE:
        raise base._wrong("indirect", f"it needs NeuronCore-v4, this is {recorder.machine.core}")
    form = base.form
    total = index.form.elements if count is None else count
    made = intern(form.buffer, form.dtype, (form.shape[0], total), (form.strides[0], 1), "column")
    return IndirectTensor(base.storage, made, base.offset, index=index, step=1, bound=form.free)


def _make(
    base: NkiTensor,
    index: Any,
    dim: int,
    dtype: DType,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    kind: str,
) -> IndirectTensor:
    if base.form.indirect:
        raise base._wrong("ap", "it is addressed at run time already")
    if not 0 <= dim < len(base.form.shape):
        raise base._wrong("ap", f"indirect_dim={dim}: there is no such dimension")
    form = intern(base.form.buffer, dtype, shape, strides, kind)
    return IndirectTensor(
        base.storage, form, base.offset, index=index, step=base.form.strides[dim], bound=base.form.shape[dim]
    )
