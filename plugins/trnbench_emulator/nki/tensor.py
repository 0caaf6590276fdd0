"""NkiTensor: a view on a storage. Slicing, reshaping and raw access patterns move no data."""

from __future__ import annotations

from typing import Any, Self, cast

import msgspec

from trnbench.errors import KernelError
from trnbench_emulator.nki import site
from trnbench_emulator.nki.dtype import DType, dtype_of
from trnbench_emulator.nki.memory import Buffer, Form, Storage, intern
from trnbench_emulator.nki.recording import STATE, Recording
from trnbench_emulator.nki.values import (
    Addressing,
    IndirectValues,
    Values,
    column_indirect,
    scalar_indirect,
    vector_indirect,
)
from trnbench_emulator.nki.view import Arrangement, Region, indexed, region_of, wrong

_MAX_CHILDREN = 1 << 16


class NkiTensor(Values, Arrangement, msgspec.Struct, eq=False):
    """Storage, form and offset (in elements). Made by `nl.ndarray` and by slicing; never directly."""

    storage: Storage
    form: Form
    offset: int

    @property
    def shape(self) -> tuple[int, ...]:
        return self.form.shape

    @property
    def strides(self) -> tuple[int, ...]:
        return self.form.strides

    @property
    def dtype(self) -> DType:
        return self.form.dtype

    @property
    def buffer(self) -> Buffer:
        return self.form.buffer

    @property
    def ndim(self) -> int:
        return len(self.form.shape)

    @property
    def size(self) -> int:
        return self.form.elements

    @property
    def name(self) -> str:
        return self.storage.name

    def is_contiguous(self) -> bool:
        return self.form.contiguous

    def is_indirect(self) -> bool:
        return bool(self.form.indirect)

    def get_pattern(self) -> list[list[int]]:
        """[[stride, count], …] of the dimensions, outermost first."""
        return [[s, n] for s, n in zip(self.form.strides, self.form.shape, strict=True)]

    def __repr__(self) -> str:
        return f"NkiTensor({self.form!r})"

    def __len__(self) -> int:
        return self.form.shape[0]

    # Views --------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> NkiTensor:
        if type(index) is not tuple:
            index = (index,)
        form = self.form
        views = form.children
        key = tuple([(i.start, i.stop, i.step) if type(i) is slice else i for i in index])
        try:
            hit = views.get(key)
        except TypeError:  # a tensor or an array as index
            hit = None
        if hit is None:
            hit = indexed(form, index)
            if len(views) > _MAX_CHILDREN:
                views.clear()
            views[key] = hit
        return NkiTensor(self.storage, hit[0], self.offset + hit[1])

    def __setitem__(self, index: Any, value: Any) -> None:
        """As `nisa.tensor_copy` on chip, as `nisa.dma_copy` to or from HBM; a number as `nisa.memset`."""
        assert STATE.assign is not None, "the language brings what an assignment does"
        STATE.assign(self[index], value)

    def slice(self, dim: int, start: int, end: int, step: int = 1) -> NkiTensor:
        """Elements `start` to `end` of dimension `dim`."""
        dim = self._dim(dim, "slice")
        return self[(slice(None),) * dim + (slice(start, end, step),)]

    def select(self, dim: int, index: Any) -> NkiTensor:
        """One element of dimension `dim`, which is removed; a tensor or register is read at run time."""
        dim = self._dim(dim, "select")
        dtype, (shape, strides) = self.form.dtype, self._without(dim)
        partition = dim == 0 and self.form.on_chip
        if isinstance(index, int):
            picked = self[(slice(None),) * dim + (index,)]
            return picked if partition or not shape else picked._as(dtype, shape, strides, picked.offset)
        if partition:
            raise self._wrong("select", "the partition dimension of a tile cannot be selected at run time")
        return self._at(index, scalar_indirect(self.form, index, dim, dtype, shape or (1,), strides or (1,)))

    def vector_select(self, dim: int, vector_offset: NkiTensor) -> NkiTensor:
        """Row `vector_offset[p]` of an HBM tensor for each partition p."""
        if dim != 0 or self.form.on_chip:
            raise self._wrong("vector_select", "it takes dimension 0 of a tensor in HBM")
        count = vector_offset.form.partitions
        shape = (count, *self.form.shape[1:])
        return self._at(
            vector_offset, vector_indirect(self.form, 0, self.form.dtype, shape, self.form.strides)
        )

    def indirect(self, index: NkiTensor, num_elem: int | None = None) -> NkiTensor:
        """Columns at free offsets that `index` holds, in its snake order (NeuronCore-v4)."""
        return self._at(index, column_indirect(self.form, index, num_elem))

    def ap(
        self,
        pattern: Any,
        offset: int | None = None,
        scalar_offset: Any = None,
        vector_offset: NkiTensor | None = None,
        indirect_dim: int = 0,
        dtype: Any = None,
    ) -> NkiTensor:
        """A raw access pattern: [[stride, count], …] in elements of the whole storage.

        On chip the first pair walks partitions (its stride is in elements of the storage as well).
        `offset` is added to this view's own. A `scalar_offset` (register or 1 × 1 tile) or a
        `vector_offset` (one index per partition) times the stride of `indirect_dim` is added at run time.
        """
        pairs = [tuple(int(number) for number in pair) for pair in pattern]
        kind = self.form.dtype if dtype is None else dtype_of(dtype)
        scale = self.form.dtype.size / kind.size
        start = int(self.offset * scale) + (0 if offset is None else offset)
        shape, strides = tuple(c for _, c in pairs), tuple(s for s, _ in pairs)
        if scalar_offset is not None or vector_offset is not None:
            base = NkiTensor(self.storage, self.form, start) if kind is self.form.dtype else self.view(kind)
            base = NkiTensor(self.storage, base.form, start)
            if scalar_offset is not None and vector_offset is not None:
                raise self._wrong("ap", "scalar_offset and vector_offset exclude each other")
            if vector_offset is not None:
                addressing = vector_indirect(base.form, indirect_dim, kind, shape, strides)
                return base._at(vector_offset, addressing)
            addressing = scalar_indirect(base.form, scalar_offset, indirect_dim, kind, shape, strides)
            return base._at(scalar_offset, addressing)
        row = self.storage.form.nbytes // max(self.storage.form.partitions, 1) // kind.size
        if self.form.on_chip and pairs and pairs[0][1] > 1 and pairs[0][0] % row:
            raise self._wrong(
                "ap",
                f"the partition stride is {pairs[0][0]}, it must be equal to the storage's free-dim element "
                f"count, which is {row}",
            )
        reach = [(count - 1) * stride for stride, count in pairs]
        first, last = (
            start + sum(min(number, 0) for number in reach),
            start + sum(max(number, 0) for number in reach),
        )
        if first < 0 or last >= self.storage.form.nbytes // kind.size or not all(c > 0 for _, c in pairs):
            raise KernelError(
                f".ap({[list(pair) for pair in pairs]}, offset={offset or 0}) reaches outside "
                f"{self.storage.form!r} ({site.here()})"
            )
        return self._as(kind, shape, strides, start)

    def _at(self, index: Any, addressing: Addressing) -> IndirectTensor:
        """Addressed at run time by `index`."""
        form, step, bound = addressing
        return IndirectTensor(self.storage, form, self.offset, index=index, step=step, bound=bound)

    def _as(self, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Self:
        form = intern(self.form.buffer, dtype, shape, strides, self.form.indirect)
        view: Any = NkiTensor(self.storage, form, offset)
        return cast("Self", view)

    def _without(self, dim: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Sizes and strides of the other dimensions."""
        shape, strides = self.form.shape, self.form.strides
        return shape[:dim] + shape[dim + 1 :], strides[:dim] + strides[dim + 1 :]

    def _dim(self, dim: int, call: str) -> int:
        at = dim if dim >= 0 else len(self.form.shape) + dim
        if not 0 <= at < len(self.form.shape):
            raise self._wrong(call, f"it has no dimension {dim}")
        return at

    def _wrong(self, call: str, why: str) -> KernelError:
        return wrong(self.form, call, why)

    @property
    def region(self) -> Region:
        """What of the storage this view covers, for dependencies."""
        return region_of(self.storage, self.form, self.offset)


class IndirectTensor(IndirectValues, NkiTensor, eq=False, kw_only=True):
    """A view plus where its index comes from. `step`: elements per unit of the index; `bound`: its end."""

    index: Any
    step: int
    bound: int

    def __post_init__(self) -> None:
        recorder: Recording | None = STATE.recorder
        if recorder is not None:
            recorder.indirect = recorder.careful = True

    def __getitem__(self, index: Any) -> NkiTensor:
        keys = index if isinstance(index, tuple) else (index,)
        if self.form.indirect != "scalar" and keys and keys[0] not in (slice(None), Ellipsis):
            raise self._wrong("slicing", "the dimension that is addressed at run time cannot be sliced")
        return self._like(super().__getitem__(index))

    def _as(self, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Self:
        return cast("Self", self._like(super()._as(dtype, shape, strides, offset)))

    def _like(self, view: NkiTensor) -> IndirectTensor:
        return IndirectTensor(
            view.storage, view.form, view.offset, index=self.index, step=self.step, bound=self.bound
        )
