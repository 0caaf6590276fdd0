"""Layouts of views: what indexing, reshaping and reordering make of one, and the region it touches."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from trnbench.errors import KernelError
from trnbench_emulator.nki import site
from trnbench_emulator.nki.dtype import DType, Sizes, dtype_of
from trnbench_emulator.nki.memory import Form, Storage, intern, row_major
from trnbench_emulator.nki.values import whole


def indexed(form: Form, index: tuple[Any, ...]) -> tuple[Form, int]:
    """The form and offset of `tensor[index]`. Out of bounds is an error, not cut off as in NumPy."""
    shape, strides = form.shape, form.strides
    entries = filled_up(index, len(shape))
    if len(entries) > len(shape):
        raise KernelError(f"{len(entries)} indices on {form!r} ({site.here()})")
    new_shape: list[int] = []
    new_strides: list[int] = []
    offset = 0
    for axis, (entry, size, stride) in enumerate(zip(entries, shape, strides, strict=True)):
        numbers = getattr(entry, "numbers", entry)  # of a loop that is followed
        if isinstance(numbers, range):  # nl.affine_range(n): all of its numbers
            entry = slice(numbers.start, numbers.stop, numbers.step)
        if isinstance(entry, slice):
            start, stop, step = ends_of(entry, size)
            if start < 0 or stop > size or step < 1 or stop <= start:
                raise KernelError(
                    f"[{entry.start}:{entry.stop}] is outside dimension {axis} (size {size}) of {form!r} "
                    f"({site.here()})",
                    try_="mind the last, smaller tile when the size is no multiple of the tile",
                )
            new_shape.append((stop - start + step - 1) // step)
            new_strides.append(stride * step)
            offset += start * stride
            continue
        try:
            position = int(entry.__index__())
        except (AttributeError, TypeError):
            raise KernelError(
                f"index of type {type(entry).__name__} on {form!r} ({site.here()})",
                cause="integers and slices are emulated; index tensors and masks are not",
                try_="use slices, nl.ds(start, size) or .ap(…)",
            ) from None
        position = position + size if position < 0 else position
        if not 0 <= position < size:
            raise KernelError(
                f"index {entry} is outside dimension {axis} (size {size}) of {form!r} ({site.here()})"
            )
        offset += position * stride
        if form.on_chip and axis == 0:  # one partition is still a partition dimension
            new_shape.append(1)
            new_strides.append(stride)
    if form.on_chip and len(new_shape) == 1:
        new_shape.append(1)
        new_strides.append(1)
    if not new_shape:
        new_shape, new_strides = [1], [1]
    return intern(form.buffer, form.dtype, tuple(new_shape), tuple(new_strides), form.indirect), offset


def filled_up(index: tuple[Any, ...], rank: int) -> list[Any]:
    """Entries for `rank` dimensions: those that the index does not name are taken whole."""
    entries = list(index)
    at = next((number for number, entry in enumerate(entries) if entry is Ellipsis), len(entries))
    entries[at : at + 1] = [slice(None)] * (rank - len(entries) + (at < len(entries)))
    return entries


def ends_of(part: slice, size: int) -> tuple[int, int, int]:
    """Start, stop and step of a slice as numbers; unlike those of `slice.indices` they may lie outside."""
    start = 0 if part.start is None else whole(part.start, "the start of a slice")
    stop = size if part.stop is None else whole(part.stop, "the end of a slice")
    step = 1 if part.step is None else whole(part.step, "the step of a slice")
    return (start + size if start < 0 else start), (stop + size if stop < 0 else stop), step


def sizes_of(shape: tuple[Any, ...], elements: int) -> Sizes:
    """The sizes that `reshape` is given, one by one or as a tuple; -1 is what the others leave."""
    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    product = prod(size for size in sizes if size != -1)
    return tuple(elements // product if size == -1 else size for size in sizes)


def reshaped(form: Form, sizes: Sizes) -> Sizes:
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
    remaining, stride = runs.pop() if runs else (1, 1)
    for size in reversed(sizes[fixed:]):
        if remaining == 1 and size != 1 and runs:
            remaining, stride = runs.pop()
        if remaining % size:
            raise KernelError(
                f"reshape: {form!r} to {list(sizes)} needs a copy, its elements are not in one run "
                f"({site.here()})",
                try_="reshape before slicing, or copy the tile first",
            )
        strides.append(stride)
        stride *= size
        remaining //= size
    return (*form.strides[:fixed], *reversed(strides))


def grouped(form: Form, source: Any, target: Any, sizes: dict[str, int]) -> tuple[Any, Any, Any]:
    """How `rearrange` goes from names to views: splits (dimension, sizes), the order, ranges to merge.

    Raises `KernelError` when the patterns do not name the same dimensions, or sizes are missing.
    """
    names: list[str] = []
    split: list[tuple[int, Sizes]] = []
    if len(source) != len(form.shape):
        raise KernelError(
            f"rearrange: {source!r} names {len(source)} dimensions, {form!r} has {len(form.shape)} "
            f"({site.here()})"
        )
    for dim, group in enumerate(source):
        parts = (group,) if isinstance(group, str) else tuple(group)
        names += parts
        lengths = [sizes.get(name, -1) for name in parts]
        if len(parts) == 1:
            continue
        if lengths.count(-1) > 1:
            raise KernelError(
                f"rearrange: the sizes of {', '.join(parts)} are not given ({site.here()})",
                try_="fixed_sizes={name: size} for all but one of a group",
            )
        split.append((dim, tuple(lengths)))
    wanted = [name for group in target for name in ((group,) if isinstance(group, str) else group)]
    if sorted(wanted) != sorted(names) or len(set(names)) != len(names):
        raise KernelError(
            f"rearrange: {source!r} and {target!r} do not name the same dimensions ({site.here()})"
        )
    merged: list[tuple[int, int]] = []
    at = 0
    for group in target:
        count = 1 if isinstance(group, str) else len(group)
        if count > 1:
            merged.append((at, at + count - 1))
        at += count
    return split, tuple(names.index(group) for group in wanted), merged


class Region(NamedTuple):
    """The box of memory a view touches: rows and bytes of a row, ends excluded.

    Rows of a tile are its partitions. Views with gaps are covered by their box. Tiles that the kernel placed
    itself share one storage.
    """

    storage: Storage
    rows: tuple[int, int]
    bytes: tuple[int, int]

    def meets(self, other: Region) -> bool:
        """Do two boxes of one storage share a byte?"""
        (first, last), (start, end) = other.rows, other.bytes
        return self.rows[0] < last and first < self.rows[1] and self.bytes[0] < end and start < self.bytes[1]


def region_of(storage: Storage, form: Form, offset: int) -> Region:
    """What of `storage` a view of this form covers from `offset` on, for dependencies; all of it where it is
    addressed at run time."""
    covered, start = (storage.form, 0) if form.indirect else (form, offset)
    first, last, low, high = rectangle(covered, storage.form, start)
    if storage.place is None:
        return Region(storage, (first, last), (low, high))
    memory, partition, byte = storage.place
    return Region(memory, (first + partition, last + partition), (byte + low, byte + high))


def rectangle(form: Form, root: Form, offset: int) -> tuple[int, int, int, int]:
    """First row, end of rows, first byte of a row, end of bytes; a view across rows takes whole rows."""
    size, row = form.dtype.size, root.nbytes // root.shape[0]
    first, start = divmod(offset * size, row)
    low, high = reach(form.shape[1:], form.strides[1:], size)
    step = form.strides[0] * size
    if step % row == 0 and start + low >= 0 and start + high <= row:
        last = first + (form.shape[0] - 1) * (step // row)
        return (min(first, last), max(first, last) + 1, start + low, start + high)
    low, high = reach(form.shape, form.strides, size)
    begin, end = offset * size + low, offset * size + high
    if begin // row == (end - 1) // row:
        return (begin // row, begin // row + 1, begin % row, (end - 1) % row + 1)
    return (begin // row, (end - 1) // row + 1, 0, row)


def reach(shape: Sizes, strides: Sizes, size: int) -> tuple[int, int]:
    """The first byte and the end of a view of elements of `size` bytes, from where it begins."""
    low, high = span(shape, strides)
    return low * size, (high + 1) * size


def span(shape: Sizes, strides: Sizes) -> tuple[int, int]:
    """The first and the last element that a view reaches, from where it begins."""
    low = high = 0
    for n, s in zip(shape, strides, strict=True):
        if s < 0:
            low += (n - 1) * s
        else:
            high += (n - 1) * s
    return low, high


class Arrangement:
    """What makes other views of a view. Raises `KernelError` where only a copy could do it."""

    __slots__ = ()

    form: Form
    offset: int

    if TYPE_CHECKING:

        def _as(self, dtype: DType, shape: Sizes, strides: Sizes, offset: int) -> Self: ...

    def _arranged(self, shape: Iterable[int], strides: Iterable[int]) -> Self:
        """Another view of the same elements, from the same one on."""
        return self._as(self.form.dtype, tuple(shape), tuple(strides), self.offset)

    def _without(self, dim: int) -> tuple[Sizes, Sizes]:
        """Sizes and strides of the other dimensions."""
        shape, strides = self.form.shape, self.form.strides
        return shape[:dim] + shape[dim + 1 :], strides[:dim] + strides[dim + 1 :]

    def _dim(self, dim: int, call: str) -> int:
        at = dim if dim >= 0 else len(self.form.shape) + dim
        if not 0 <= at < len(self.form.shape):
            raise self._wrong(call, f"it has no dimension {dim}")
        return at

    def _kept(self, call: str, dim: int, done: str) -> None:
        """Dimension 0 stays what it is on chip, and where each of its rows is addressed at run time."""
        form = self.form
        if dim == 0 and (form.on_chip or form.indirect == "vector"):
            held = "partition dimension of a tile" if form.on_chip else "dimension addressed at run time"
            raise self._wrong(call, f"the {held} cannot be {done}")

    def _wrong(self, call: str, why: str) -> KernelError:
        """What to raise where a view cannot be made."""
        return KernelError(f"{call}: {self.form!r}: {why} ({site.here()})")

    def reshape(self, *shape: Any) -> Self:
        """The same elements under another shape; dimension 0 stays the partition on chip."""
        form = self.form
        sizes = sizes_of(shape, form.elements)
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
        if sizes[0] != form.shape[0]:
            self._kept("reshape", 0, "resized")
        return self._arranged(sizes, reshaped(form, sizes))

    def reshape_dim(self, dim: int, shape: Sizes) -> Self:
        """Dimension `dim` split into several; one of them may be -1."""
        dim = self._dim(dim, "reshape_dim")
        sizes = list(shape)
        if -1 in sizes:
            product = prod(length for length in sizes if length != -1)
            sizes[sizes.index(-1)] = self.form.shape[dim] // max(product, 1)
        if prod(sizes) != self.form.shape[dim]:
            raise self._wrong("reshape_dim", f"dimension {dim} is not the product of {list(shape)}")
        if len(sizes) > 1:
            self._kept("reshape_dim", dim, "split")
        form = self.form
        strides = (step * form.strides[dim] for step in row_major(tuple(sizes)))
        return self._arranged(
            (*form.shape[:dim], *sizes, *form.shape[dim + 1 :]),
            (*form.strides[:dim], *strides, *form.strides[dim + 1 :]),
        )

    def flatten_dims(self, start_dim: int, end_dim: int) -> Self:
        """Dimensions `start_dim` to `end_dim`, both included, merged into one."""
        first, last = self._dim(start_dim, "flatten_dims"), self._dim(end_dim, "flatten_dims")
        if first > last:
            raise self._wrong("flatten_dims", f"dimension {start_dim} is behind {end_dim}")
        if last > first:
            self._kept("flatten_dims", first, "merged")
        shape = self.form.shape
        return self.reshape((*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]))

    def squeeze_dim(self, dim: int) -> Self:
        """A dimension of size 1 removed."""
        dim = self._dim(dim, "squeeze_dim")
        self._kept("squeeze_dim", dim, "removed")
        if self.form.shape[dim] != 1:
            raise self._wrong("squeeze_dim", f"dimension {dim} is not of size 1")
        return self._arranged(*self._without(dim))

    def rearrange(
        self, src_pattern: Any, dst_pattern: Any, fixed_sizes: dict[str, int] | None = None
    ) -> Self:
        """Dimensions split, reordered and merged by name: ("b", ("h", "w")) to ("b", "w", "h")."""
        split, order, merged = grouped(self.form, src_pattern, dst_pattern, fixed_sizes or {})
        view = self
        for dim, sizes in reversed(split):
            view = view.reshape_dim(dim, sizes)
        view = view.permute(order)
        for first, last in reversed(merged):
            view = view.flatten_dims(first, last)
        return view

    def permute(self, dims: tuple[int, ...]) -> Self:
        """Dimensions in another order; on chip dimension 0 stays in place."""
        form = self.form
        if sorted(dims) != list(range(len(form.shape))) or (form.on_chip and dims[0] != 0):
            raise KernelError(
                f"permute: {tuple(dims)} is no order of the dimensions of {form!r} ({site.here()})",
                cause="every dimension once, and the partition first on chip",
            )
        if dims[0] != 0:
            self._kept("permute", 0, "moved")
        return self._arranged((form.shape[d] for d in dims), (form.strides[d] for d in dims))

    def expand_dim(self, dim: int) -> Self:
        """One more dimension, of size 1, at position `dim`."""
        form = self.form
        shape, strides = list(form.shape), list(form.strides)
        at = dim if dim >= 0 else len(shape) + 1 + dim
        if not 0 <= at <= len(shape):
            raise self._wrong("expand_dim", f"there is no position {dim}")
        self._kept("expand_dim", at, "behind another")
        shape.insert(at, 1)
        strides.insert(at, 0)
        return self._arranged(shape, strides)

    def broadcast(self, dim: int, size: int) -> Self:
        """Dimension `dim` of size 1 repeated `size` times, without a copy."""
        form, dim = self.form, self._dim(dim, "broadcast")
        self._kept("broadcast", dim, "repeated")
        if form.shape[dim] != 1:
            raise KernelError(f"broadcast: dimension {dim} of {form!r} is not 1 ({site.here()})")
        shape, strides = list(form.shape), list(form.strides)
        shape[dim], strides[dim] = size, 0
        return self._arranged(shape, strides)

    def view(self, dtype: Any) -> Self:
        """The same bytes read as another type; the last dimension grows or shrinks with its size."""
        form, kind = self.form, dtype_of(dtype)
        old, new = form.dtype.size, kind.size
        shape, strides = list(form.shape), list(form.strides)
        if old != new:
            fits = (shape[-1] * old) % new == 0 and (self.offset * old) % new == 0
            fits = fits and all((s * old) % new == 0 for s in strides[:-1])
            if strides[-1] != 1 or not fits or form.indirect:
                raise self._wrong("view", f"its bytes cannot be read as {kind}")
            shape[-1] = shape[-1] * old // new
            strides = [s * old // new for s in strides[:-1]] + [1]
        return self._as(kind, tuple(shape), tuple(strides), self.offset * old // new)

    reinterpret_cast = view
