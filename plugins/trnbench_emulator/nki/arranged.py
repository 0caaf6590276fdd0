"""Views under another shape, in another order, of another type: no data moves."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Self

from trnbench.errors import KernelError
from trnbench_emulator.nki import site
from trnbench_emulator.nki.dtype import DType, dtype_of
from trnbench_emulator.nki.memory import Form
from trnbench_emulator.nki.view import grouped, reshaped


class Arranged:
    """What makes other views of a view. Raises `KernelError` where only a copy could do it."""

    __slots__ = ()

    if TYPE_CHECKING:
        form: Form
        offset: int

        def _as(
            self, dtype: DType, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
        ) -> Self: ...
        def _without(self, dim: int) -> tuple[int, ...]: ...
        def _dim(self, dim: int, call: str) -> int: ...
        def _wrong(self, call: str, why: str) -> KernelError: ...

    def reshape(self, *shape: Any) -> Self:
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
        return self._as(form.dtype, sizes, reshaped(form, sizes), self.offset)

    def reshape_dim(self, dim: int, shape: tuple[int, ...]) -> Self:
        """Dimension `dim` split into several; one of them may be -1."""
        dim = self._dim(dim, "reshape_dim")
        sizes = list(shape)
        if -1 in sizes:
            known = prod(each for each in sizes if each != -1)
            sizes[sizes.index(-1)] = self.form.shape[dim] // max(known, 1)
        if prod(sizes) != self.form.shape[dim]:
            raise self._wrong("reshape_dim", f"dimension {dim} is not the product of {list(shape)}")
        if dim == 0 and self.form.on_chip and len(sizes) > 1:
            raise self._wrong("reshape_dim", "the partition dimension of a tile cannot be split")
        strides, step = [], self.form.strides[dim]
        for size in reversed(sizes):
            strides.append(step)
            step *= size
        form = self.form
        return self._as(
            form.dtype,
            (*form.shape[:dim], *sizes, *form.shape[dim + 1 :]),
            (*form.strides[:dim], *reversed(strides), *form.strides[dim + 1 :]),
            self.offset,
        )

    def flatten_dims(self, start_dim: int, end_dim: int) -> Self:
        """Dimensions `start_dim` to `end_dim`, both included, merged into one."""
        first, last = self._dim(start_dim, "flatten_dims"), self._dim(end_dim, "flatten_dims")
        if first == 0 and self.form.on_chip and last > 0:
            raise self._wrong("flatten_dims", "the partition dimension of a tile cannot be merged")
        shape = self.form.shape
        return self.reshape((*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]))

    def squeeze_dim(self, dim: int) -> Self:
        """A dimension of size 1 removed."""
        dim = self._dim(dim, "squeeze_dim")
        if self.form.shape[dim] != 1 or (dim == 0 and self.form.on_chip):
            raise self._wrong("squeeze_dim", f"dimension {dim} is not a free dimension of size 1")
        shape = self.form.shape[:dim] + self.form.shape[dim + 1 :]
        return self._as(self.form.dtype, shape, self._without(dim), self.offset)

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
        return self._as(
            form.dtype, tuple(form.shape[d] for d in dims), tuple(form.strides[d] for d in dims), self.offset
        )

    def expand_dim(self, dim: int) -> Self:
        form = self.form
        shape, strides = list(form.shape), list(form.strides)
        at = dim if dim >= 0 else len(shape) + 1 + dim
        shape.insert(at, 1)
        strides.insert(at, 0)
        return self._as(form.dtype, tuple(shape), tuple(strides), self.offset)

    def broadcast(self, dim: int, size: int) -> Self:
        """Dimension `dim` of size 1 repeated `size` times, without a copy."""
        form = self.form
        if form.shape[dim] != 1:
            raise KernelError(f"broadcast: dimension {dim} of {form!r} is not 1 ({site.here()})")
        shape, strides = list(form.shape), list(form.strides)
        shape[dim], strides[dim] = size, 0
        return self._as(form.dtype, tuple(shape), tuple(strides), self.offset)

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
