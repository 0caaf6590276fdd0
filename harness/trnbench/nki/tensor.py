"""NkiTensor: a view on a storage. Slicing, reshaping and raw access patterns move no data."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trnbench.errors import KernelError
from trnbench.nki import site
from trnbench.nki.dtype import DType, dtype_of
from trnbench.nki.memory import Buffer, Form, Storage, intern

_MAX_CHILDREN = 1 << 16


class Region(NamedTuple):
    """The box of memory a view touches: partitions and elements of a partition, ends excluded.

    Tensors in HBM have one partition. Views with gaps are covered by their box.
    """

    storage: Storage
    partition: tuple[int, int]
    free: tuple[int, int]


class NkiTensor:
    """Storage, form and offset (in elements). Made by `nl.ndarray` and by slicing; never directly."""

    __slots__ = ("form", "offset", "storage")

    def __init__(self, storage: Storage, form: Form, offset: int) -> None:
        self.storage = storage
        self.form = form
        self.offset = offset

    @property
    def shape(self) -> tuple[int, ...]:
        return self.form.shape

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
    def name(self) -> str:
        return self.storage.name

    def is_contiguous(self) -> bool:
        return self.form.contiguous

    def __repr__(self) -> str:
        return f"NkiTensor({self.form!r})"

    def __len__(self) -> int:
        return self.form.shape[0]

    # Views --------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> NkiTensor:
        if type(index) is not tuple:
            index = (index,)
        key = tuple([(i.start, i.stop, i.step) if type(i) is slice else i for i in index])
        form = self.form
        try:
            hit = form.children.get(key)
        except TypeError:  # a tensor or an array as index
            hit = None
        if hit is None:
            hit = _indexed(form, index)
            if len(form.children) > _MAX_CHILDREN:
                form.children.clear()
            form.children[key] = hit
        return NkiTensor(self.storage, hit[0], self.offset + hit[1])

    def __setitem__(self, index: Any, value: Any) -> None:
        raise KernelError(
            f"assignment to a tensor's elements is not emulated ({site.here()})",
            cause="which engine would carry it out is not said",
            try_="nisa.tensor_copy(dst=tile[…], src=…) on chip, nisa.dma_copy(dst=…, src=…) to HBM",
        )

    def reshape(self, *shape: Any) -> NkiTensor:
        """The same elements under another shape; dimension 0 stays the partition on chip."""
        sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else tuple(shape)
        form = self.form
        if -1 in sizes:
            known = prod(each for each in sizes if each != -1)
            sizes = tuple(form.elements // known if each == -1 else each for each in sizes)
        if prod(sizes) != form.elements:
            raise KernelError(
                f"reshape: {list(form.shape)} has {form.elements} elements, {list(sizes)} has {prod(sizes)} "
                f"({site.here()})"
            )
        if form.on_chip and sizes[0] != form.shape[0]:
            raise KernelError(
                f"reshape: {list(form.shape)} to {list(sizes)} moves elements across partitions "
                f"({site.here()})",
                cause="dimension 0 of a tensor in SBUF or PSUM is the partition; a view cannot change it",
                try_="move the data with nisa.nc_transpose or nisa.dma_copy",
            )
        strides = _reshaped(form, sizes)
        return self._as(form.dtype, sizes, strides, self.offset)

    def permute(self, dims: tuple[int, ...]) -> NkiTensor:
        """Dimensions in another order; on chip dimension 0 stays in place."""
        form = self.form
        if sorted(dims) != list(range(len(form.shape))) or (form.on_chip and dims[0] != 0):
            raise KernelError(
                f"permute: {tuple(dims)} is no order of the dimensions of {form!r} ({site.here()})",
                cause="every dimension once, and the partition first on chip",
            )
        return self._as(
            form.dtype, tuple(form.shape[d] for d in dims), tuple(form.strides[d] for d in dims), self.offset
        )

    def expand_dim(self, dim: int) -> NkiTensor:
        form = self.form
        shape, strides = list(form.shape), list(form.strides)
        at = dim if dim >= 0 else len(shape) + 1 + dim
        shape.insert(at, 1)
        strides.insert(at, 0)
        return self._as(form.dtype, tuple(shape), tuple(strides), self.offset)

    def broadcast(self, dim: int, size: int) -> NkiTensor:
        """Dimension `dim` of size 1 repeated `size` times, without a copy."""
        form = self.form
        if form.shape[dim] != 1:
            raise KernelError(f"broadcast: dimension {dim} of {form!r} is not 1 ({site.here()})")
        shape, strides = list(form.shape), list(form.strides)
        shape[dim], strides[dim] = size, 0
        return self._as(form.dtype, tuple(shape), tuple(strides), self.offset)

    def ap(self, pattern: Any, offset: int = 0, dtype: Any = None, **dynamic: Any) -> NkiTensor:
        """A raw access pattern: [[stride, count], …] in elements of the whole storage.

        On chip the first pair walks partitions (its stride is in elements of the storage as well).
        """
        if any(value is not None for value in dynamic.values()):
            raise KernelError(
                f".ap({', '.join(dynamic)}=…) is not emulated ({site.here()})",
                cause="dynamic addresses are not part of this version",
            )
        pairs = [tuple(int(each) for each in pair) for pair in pattern]
        kind = self.form.dtype if dtype is None else dtype_of(dtype)
        last = offset + sum((count - 1) * stride for stride, count in pairs)
        if offset < 0 or last >= self.storage.form.elements or kind.size != self.form.dtype.size:
            raise KernelError(
                f".ap({[list(pair) for pair in pairs]}, offset={offset}) reaches outside "
                f"{self.storage.form!r} ({site.here()})"
            )
        return self._as(kind, tuple(c for _, c in pairs), tuple(s for s, _ in pairs), offset)

    def _as(self, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> NkiTensor:
        form = self.form
        key = ("as", dtype, shape, strides)
        hit = form.children.get(key)
        if hit is None:
            hit = form.children[key] = (intern(form.buffer, dtype, shape, strides), 0)
        return NkiTensor(self.storage, hit[0], offset)

    # Values (functional mode) -------------------------------------------------------------------

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
            self.written()[...] = True

    def written(self) -> npt.NDArray[np.bool_]:
        """Which of these PSUM elements hold a value."""
        assert self.storage.written is not None
        return np.ndarray(
            self.form.shape,
            np.bool_,
            buffer=self.storage.written,
            offset=self.offset,
            strides=self.form.strides,
        )

    # Regions ------------------------------------------------------------------------------------

    @property
    def region(self) -> Region:
        """What of the storage this view covers, for dependencies."""
        form, root = self.form, self.storage.form
        per_partition = root.free
        if not form.on_chip:
            span = sum((n - 1) * s for n, s in zip(form.shape, form.strides, strict=True))
            return Region(self.storage, (0, 1), (self.offset, self.offset + span + 1))
        first, start = divmod(self.offset, per_partition)
        step = form.strides[0] // per_partition if per_partition else 0
        last = first + (form.shape[0] - 1) * step
        span = sum((n - 1) * s for n, s in zip(form.shape[1:], form.strides[1:], strict=True))
        return Region(self.storage, (first, last + 1), (start, start + span + 1))


def _indexed(form: Form, index: tuple[Any, ...]) -> tuple[Form, int]:
    """The form and offset of `tensor[index]`. Out of bounds is an error, not cut off as in NumPy."""
    shape, strides = form.shape, form.strides
    if any(each is Ellipsis for each in index):
        at = next(i for i, each in enumerate(index) if each is Ellipsis)
        index = (*index[:at], *[slice(None)] * (len(shape) - len(index) + 1), *index[at + 1 :])
    if len(index) > len(shape):
        raise KernelError(f"{len(index)} indices on {form!r} ({site.here()})")
    index = (*index, *[slice(None)] * (len(shape) - len(index)))
    new_shape: list[int] = []
    new_strides: list[int] = []
    offset = 0
    for axis, (each, size, stride) in enumerate(zip(index, shape, strides, strict=True)):
        if isinstance(each, slice):
            start = 0 if each.start is None else int(each.start)
            stop = size if each.stop is None else int(each.stop)
            step = 1 if each.step is None else int(each.step)
            start, stop = (start + size if start < 0 else start), (stop + size if stop < 0 else stop)
            if start < 0 or stop > size or step < 1 or stop <= start:
                raise KernelError(
                    f"[{each.start}:{each.stop}] is outside dimension {axis} (size {size}) of {form!r} "
                    f"({site.here()})",
                    try_="mind the last, smaller tile when the size is no multiple of the tile",
                )
            new_shape.append((stop - start + step - 1) // step)
            new_strides.append(stride * step)
            offset += start * stride
            continue
        try:
            at = int(each.__index__())
        except (AttributeError, TypeError):
            raise KernelError(
                f"index of type {type(each).__name__} on {form!r} ({site.here()})",
                cause="integers and slices are emulated; index tensors and masks are not",
                try_="use slices, nl.ds(start, size) or .ap(…)",
            ) from None
        at = at + size if at < 0 else at
        if not 0 <= at < size:
            raise KernelError(
                f"index {each} is outside dimension {axis} (size {size}) of {form!r} ({site.here()})"
            )
        offset += at * stride
        if form.on_chip and axis == 0:  # one partition is still a partition dimension
            new_shape.append(1)
            new_strides.append(stride)
    if form.on_chip and len(new_shape) == 1:
        new_shape.append(1)
        new_strides.append(1)
    if not new_shape:
        new_shape, new_strides = [1], [1]
    return intern(form.buffer, form.dtype, tuple(new_shape), tuple(new_strides)), offset


def _reshaped(form: Form, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of the reshaped view; raises where only a copy could do it.

    Neighbouring dimensions that lie in one run are merged, then split as asked, innermost first.
    """
    fixed = 1 if form.on_chip else 0
    runs: list[tuple[int, int]] = []  # (elements, stride), outermost first
    for size, stride in zip(form.shape[fixed:], form.strides[fixed:], strict=True):
        if size == 1:
            continue
        if runs and runs[-1][1] == size * stride:
            runs[-1] = (runs[-1][0] * size, stride)
        else:
            runs.append((size, stride))
    strides: list[int] = []
    left, stride = runs.pop() if runs else (1, 1)
    for size in reversed(sizes[fixed:]):
        if left == 1 and size != 1 and runs:
            left, stride = runs.pop()
        if left % size:
            raise KernelError(
                f"reshape: {form!r} to {list(sizes)} needs a copy, its elements are not in one run "
                f"({site.here()})",
                try_="reshape before slicing, or copy the tile first",
            )
        strides.append(stride)
        stride *= size
        left //= size
    return (*form.strides[:fixed], *reversed(strides))
