"""NkiTensor: a view on a storage. Slicing, reshaping and raw access patterns move no data."""

from __future__ import annotations

from typing import Any, Self, cast

import msgspec

from trnbench.errors import KernelError
from trnbench_emulator.nki import site
from trnbench_emulator.nki.dtype import DType, Sizes, dtype_of
from trnbench_emulator.nki.memory import Buffer, Form, Storage, intern
from trnbench_emulator.nki.recording import STATE, Recording
from trnbench_emulator.nki.values import IndirectValues, LoopNumber, Values, VirtualRegister, whole
from trnbench_emulator.nki.view import Arrangement, Region, indexed, region_of, span

_MAX_CHILDREN = 1 << 16
COLUMN_SINCE = 4  # NeuronCore-v4


class NkiTensor(Values, Arrangement, msgspec.Struct, eq=False):
    """Storage, form and offset (in elements). Made by `nl.ndarray` and by slicing; never directly."""

    storage: Storage
    form: Form
    offset: int

    @property
    def shape(self) -> Sizes:
        return self.form.shape

    @property
    def strides(self) -> Sizes:
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
        if len(index) == 2 and type(index[0]) is type(index[1]) is slice:  # most are, and a loop costs a call
            rows, columns = index
            key: Any = (slice, rows.start, rows.stop, rows.step, columns.start, columns.stop, columns.step)
        else:
            key = tuple([(i.start, i.stop, i.step) if type(i) is slice else i for i in index])
        try:
            hit = views.get(key)
        except TypeError:  # an array, or a register, whose value changes
            hit = indexed(form, index)
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
        return self._addressed("scalar", index, dim, dtype, shape or (1,), strides or (1,))

    def vector_select(self, dim: int, vector_offset: NkiTensor) -> NkiTensor:
        """Row `vector_offset[p]` of an HBM tensor for each partition p."""
        if dim != 0 or self.form.on_chip:
            raise self._wrong("vector_select", "it takes dimension 0 of a tensor in HBM")
        count = vector_offset.form.partitions
        shape = (count, *self.form.shape[1:])
        return self._addressed("vector", vector_offset, 0, self.form.dtype, shape, self.form.strides)

    def indirect(self, index: NkiTensor, num_elem: int | None = None) -> NkiTensor:
        """Columns at free offsets that `index` holds, in its snake order (NeuronCore-v4)."""
        recorder: Recording | None = STATE.recorder
        if recorder is not None and recorder.machine.nc_version < COLUMN_SINCE:
            raise self._wrong("indirect", f"it needs NeuronCore-v4, this is {recorder.machine.core}")
        form, total = self.form, index.form.elements if num_elem is None else num_elem
        columns = intern(form.buffer, form.dtype, (form.shape[0], total), (form.strides[0], 1), "column")
        return IndirectTensor(self.storage, columns, self.offset, index=index, step=1, bound=form.free)

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
        pairs = [tuple(whole(number, "ap: a number of the pattern") for number in pair) for pair in pattern]
        kind = dtype_of(dtype or self.form.dtype)
        scale = self.form.dtype.size / kind.size
        start = int(self.offset * scale) + (0 if offset is None else offset)
        shape, strides = tuple(c for _, c in pairs), tuple(s for s, _ in pairs)
        if scalar_offset is not None or vector_offset is not None:
            base = NkiTensor(self.storage, self.view(kind).form, start)
            if scalar_offset is not None and vector_offset is not None:
                raise self._wrong("ap", "scalar_offset and vector_offset exclude each other")
            if isinstance(scalar_offset, LoopNumber):
                scalar_offset = VirtualRegister(int(scalar_offset))
            how, index = ("scalar", scalar_offset) if vector_offset is None else ("vector", vector_offset)
            return base._addressed(how, index, indirect_dim, kind, shape, strides)
        row = self.storage.form.nbytes // max(self.storage.form.partitions, 1) // kind.size
        if self.form.on_chip and pairs and pairs[0][1] > 1 and pairs[0][0] % row:
            raise self._wrong(
                "ap",
                f"the partition stride is {pairs[0][0]}, it must be equal to the storage's free-dim element "
                f"count, which is {row}",
            )
        if self.form.on_chip:
            low, high = (start % row + end for end in span(shape[1:], strides[1:]))
            if low < 0 or high >= row:
                raise self._wrong(
                    "ap", f"it asks for elements {low} to {high} of a partition, which has {row}"
                )
        low, high = span(shape, strides)
        first, last = start + low, start + high
        if first < 0 or last >= self.storage.form.nbytes // kind.size or not all(c > 0 for _, c in pairs):
            raise KernelError(
                f".ap({[list(pair) for pair in pairs]}, offset={offset or 0}) reaches outside "
                f"{self.storage.form!r} ({site.here()})"
            )
        return self._as(kind, shape, strides, start)

    def _addressed(
        self, how: str, index: Any, dim: int, dtype: DType, shape: Sizes, strides: Sizes
    ) -> IndirectTensor:
        """A pattern moved at run time, by `index` times the stride of `dim`: all of it ("scalar"), or each
        row of its first dimension by an index of its own ("vector")."""
        base = self.form
        if how == "vector":
            if base.on_chip:
                raise self._wrong("ap", "vector_offset addresses tensors in HBM")
        elif not isinstance(index, (Values, VirtualRegister)):
            raise self._wrong(
                "ap", f"scalar_offset is {type(index).__name__}, it must be a register or a tile"
            )
        elif isinstance(index, Values) and index.form.elements != 1:
            raise self._wrong("ap", f"scalar_offset has shape {list(index.form.shape)}, it must be (1, 1)")
        if base.indirect:
            raise self._wrong("ap", "it is addressed at run time already")
        if not 0 <= dim < len(base.shape):
            raise self._wrong("ap", f"indirect_dim={dim}: there is no such dimension")
        form = intern(base.buffer, dtype, shape, strides, how)
        return IndirectTensor(
            self.storage, form, self.offset, index=index, step=base.strides[dim], bound=base.shape[dim]
        )

    def _as(self, dtype: DType, shape: Sizes, strides: Sizes, offset: int) -> Self:
        form = intern(self.form.buffer, dtype, shape, strides, self.form.indirect)
        view: Any = NkiTensor(self.storage, form, offset)
        return cast("Self", view)

    @property
    def first_partition(self) -> int:
        """On chip, where it begins."""
        storage, placed = self.storage, self.storage.place
        row = self.offset * self.form.dtype.size // storage.form.row_bytes
        return row if placed is None else row + placed[1]

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

    def _as(self, dtype: DType, shape: Sizes, strides: Sizes, offset: int) -> Self:
        return cast("Self", self._like(super()._as(dtype, shape, strides, offset)))

    def _like(self, view: NkiTensor) -> IndirectTensor:
        return IndirectTensor(
            view.storage, view.form, view.offset, index=self.index, step=self.step, bound=self.bound
        )
