"""Tile: a Beta 1 tensor or a part of it, its operators, and results that wait for their destination."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, partialmethod
from math import prod
from numbers import Number
from typing import Any

from msgspec.structs import replace

from trnbench.errors import KernelError
from trnbench_emulator.nki import isa, site
from trnbench_emulator.nki.beta1.deferral import SLOT, Pending, line_of, settle, taken
from trnbench_emulator.nki.beta1.index import box_of
from trnbench_emulator.nki.beta1.root import Root
from trnbench_emulator.nki.beta1.view import BLOCK, FREE, PARTITION, View
from trnbench_emulator.nki.dtype import Sizes, dtype_of
from trnbench_emulator.nki.memory import Buffer, intern
from trnbench_emulator.nki.recorder import starts
from trnbench_emulator.nki.tensor import NkiTensor
from trnbench_emulator.nki.view import reshaped, sizes_of

CALLS: dict[str, Callable[..., Any]] = {}
"""`apply`, `broadcast_to` and `copy` of Beta 1's language."""


def _binary(name: str) -> Callable[[Any, Any], Any]:
    return lambda tile, other: CALLS["apply"](name, (tile, other))


def _reflected(name: str) -> Callable[[Any, Any], Any]:
    return lambda tile, other: CALLS["apply"](name, (other, tile))


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    apply = _binary(name)
    return lambda tile, other: apply(tile, other) if isinstance(other, (Tile, Number)) else NotImplemented


class Arithmetic:
    """The operators of a tile."""

    __slots__ = ()

    __add__, __radd__ = _binary("add"), _reflected("add")
    __sub__, __rsub__ = _binary("subtract"), _reflected("subtract")
    __mul__, __rmul__ = _binary("multiply"), _reflected("multiply")
    __truediv__, __rtruediv__ = _binary("divide"), _reflected("divide")
    __lt__, __le__ = _binary("less"), _binary("less_equal")
    __gt__, __ge__ = _binary("greater"), _binary("greater_equal")
    __eq__, __ne__ = _comparison("equal"), _comparison("not_equal")
    __hash__ = object.__hash__

    def __neg__(self) -> Any:
        return CALLS["apply"]("multiply", (self, -1.0))


_UNNAMED = 3
"""References to a value that only the call at hand knows: the caller's, ours, and the counting call's."""


class Tile(Arithmetic, View, eq=False):
    """What a kernel of Beta 1 has: all of a tensor, or a part of it."""

    @classmethod
    def of(cls, root: Root) -> Tile:
        """All of a tensor."""
        return cls(root, root.shape, root.strides, _kinds(root.axis, len(root.shape)), root.dtype)

    @classmethod
    def holding(cls, tensor: NkiTensor) -> Tile:
        """All of a tensor of today's NKI."""
        return cls.of(Root.holding(tensor))

    # Views --------------------------------------------------------------------------------------

    def __class_getitem__(cls, asked: Any) -> Any:
        """`tensor[mutable]`, an annotation; `tensor[[250, 512], nl.float32]`, an argument without values."""
        if isinstance(asked, tuple) and len(asked) == 2 and isinstance(asked[0], (list, tuple)):
            return CALLS["spec"](asked[0], asked[1])
        return cls

    def reshape(self, *shape: Any, **named: Any) -> Tile:
        """The same elements under another shape; the partition stays in place."""
        settle()
        shape = shape or (named["shape"],)
        sizes = sizes_of(shape, self.size)
        sizes = tuple(int(size) if size == int(size) else size for size in sizes)  # 2 / 2 is a size there
        form = intern(self.buffer, self.dtype, self.shape, self.strides)
        wrong = BLOCK in self.kinds or (
            self.on_chip and (self.kinds[0] != PARTITION or sizes[0] != self.shape[0])
        )
        if prod(sizes) != self.size or wrong:
            raise KernelError(f"reshape: {self!r} cannot become {list(sizes)} ({site.here()})")
        strides = reshaped(form, sizes)
        kinds = (self.kinds[0] if self.on_chip else FREE, *[FREE] * (len(sizes) - 1))
        return self.like(sizes, strides, kinds)

    def widened(self, at: int, count: int) -> Tile:
        """`count` more free dimensions, of size 1, before dimension `at`."""
        return self.like(
            (*self.shape[:at], *[1] * count, *self.shape[at:]),
            (*self.strides[:at], *[0] * count, *self.strides[at:]),
            (*self.kinds[:at], *[FREE] * count, *self.kinds[at:]),
        )

    def expand_dims(self, axis: int) -> Tile:
        """One more free dimension, of size 1."""
        return self.widened(axis if axis >= 0 else len(self.shape) + 1 + axis, 1)

    def broadcast_to(self, *shape: Any, **_: Any) -> Tile:
        """Dimensions of size 1 repeated; other partitions are filled by an instruction."""
        view: Tile = CALLS["broadcast_to"](self, shape[0] if len(shape) == 1 else shape)
        return view

    def view(self, dtype: Any) -> Tile:
        """The same bytes as another type; the last dimension grows or shrinks with its size."""
        kind = dtype_of(dtype)
        old, new = self.dtype.size, kind.size
        if old == new:
            return replace(self, dtype=kind)
        moved = [step for step, of in zip(self.strides, self.kinds, strict=True) if of != BLOCK][:-1]
        whole = all(each * old % new == 0 for each in (self.offset, self.shape[-1], *moved))
        alone = self.kinds[-1] == FREE and (self.strides[-1] == 1 or self.shape[-1] == 1)
        if not whole or not alone or self.over or self.rows is not None:
            raise KernelError(f"view: {self!r} cannot be read as {kind} ({site.here()})")
        strides = tuple(
            step if of == BLOCK else step * old // new
            for step, of in zip(self.strides[:-1], self.kinds[:-1], strict=True)
        )
        sizes = (*self.shape[:-1], self.shape[-1] * old // new)
        offset = self.offset * old // new
        return replace(self, dtype=kind, shape=sizes, strides=(*strides, 1), offset=offset)

    def astype(self, dtype: Any) -> Tile:
        copied: Tile = CALLS["copy"](self, dtype=dtype)
        return copied

    def overwritten(self, src: Tile, mask: Any = None) -> NkiTensor:
        """This tile as the destination of a transfer. Where that brings all of it anew from HBM, the
        compiler of Beta 1 has a place of its own for it, and nothing waits for those who still read. A mask
        that lets everything through leaves nothing out."""
        unmasked = mask is None or box_of(mask, self.shape) == box_of(None, self.shape)
        if unmasked and src.root.axis < 0 and self._is_all_of_a_place():
            self.root.renew(self.block)
        return self.operand(mask)

    def amid_a_group(self) -> bool:
        """Does it begin where compute engines do not, and only a DMA goes?"""
        if self.buffer is not Buffer.SBUF or self.over or BLOCK in self.kinds or self.offset == 0:
            return False
        view = self.operand()
        return view.first_partition not in starts(view.form.partitions)

    def _is_all_of_a_place(self) -> bool:
        root = self.root
        return (
            root.buffer is Buffer.SBUF
            and not self.over
            and self.rows is None
            and self.offset == 0
            and BLOCK not in self.kinds
            and prod(self.shape) == prod(root.shape[root.axis :])
        )

    def same_place(self, other: Any) -> bool:
        return (
            isinstance(other, Tile)
            and other.root is self.root
            and (other.block, other.offset, other.shape, other.strides)
            == (self.block, self.offset, self.shape, self.strides)
        )

    def is_whole(self) -> bool:
        """Is it all of its tensor, as that lies?"""
        root = self.root
        return not (self.block or self.offset) and (self.shape, self.strides) == (root.shape, root.strides)

    def fitted(self, shape: Sizes) -> Tile | None:
        """This tile under a shape that differs in dimensions of size 1; None where it is another one."""
        if self.shape == shape:
            return self
        if [size for size in self.shape if size != 1] != [size for size in shape if size != 1]:
            return None
        sources = [at for at, size in enumerate(self.shape) if size != 1]
        ones = [at for at, size in enumerate(self.shape) if size == 1 and self.kinds[at] == PARTITION]
        strides, kinds = [], []
        for at, size in enumerate(shape):
            if size != 1:
                source = sources.pop(0)
                strides.append(self.strides[source])
                kinds.append(self.kinds[source])
            elif at == 0 and ones:
                strides.append(self.strides[ones[0]])
                kinds.append(PARTITION)
            else:
                strides.append(0)
                kinds.append(FREE)
        return None if self.over else self.like(shape, tuple(strides), tuple(kinds))

    # Assignment ---------------------------------------------------------------------------------

    def __setitem__(self, index: Any, value: Any) -> None:
        dst = self[index]
        if not dst.on_chip:
            raise KernelError(
                f"assignment to {dst!r} in HBM ({site.here()})", try_="nl.store(tensor[…], value=tile)"
            )
        if dst.same_place(value):
            return
        held = taken(value)
        if held is not None:
            fits = dst.buffer in held.into and (not held.exact or dst.dtype is value.dtype)
            target = dst if dst.over else dst.fitted(value.shape)
            unnamed = sys.getrefcount(value) <= _UNNAMED + (value is held.result)
            fits = fits and (held.transfer or not dst.amid_a_group())
            if fits and value.is_whole() and target is not None and unnamed:
                held.issue(target)
                return
            held.issue(held.result)
        settle()
        if isinstance(value, Tile) and dst.amid_a_group():
            isa.dma_copy(*_aligned(dst, value if value.buffer is Buffer.SBUF else CALLS["in_sbuf"](value)))
        elif isinstance(value, Tile):
            isa.tensor_copy(*_aligned(dst, value))
        else:
            isa.memset(dst.operand(), value)

    def _in_place(self, name: str, value: Any) -> Tile:
        held = taken(value)
        if held is not None:
            if name == "add" and value.is_whole() and held.adds and self.buffer is Buffer.PSUM:
                target = self.fitted(value.shape)
                if target is not None:
                    held.add_to(target)
                    return self
            held.issue(held.result)
        settle()
        CALLS["apply"](name, (self, value), into=self)
        return self

    __iadd__, __isub__ = partialmethod(_in_place, "add"), partialmethod(_in_place, "subtract")
    __imul__ = partialmethod(_in_place, "multiply")


@cache
def _kinds(axis: int, rank: int) -> tuple[str, ...]:
    kinds = (*[BLOCK] * max(axis, 0), *([PARTITION] if axis >= 0 else []))
    return (*kinds, *[FREE] * (rank - len(kinds)))


def _aligned(dst: Tile, src: Tile) -> tuple[NkiTensor, NkiTensor]:
    target = dst if dst.over else dst.fitted(src.shape)
    if target is None:
        wide: Tile = CALLS["broadcast_to"](src, dst.shape)
        settle()
        return dst.operand(), wide.operand()
    return target.operand(), src.operand()


_ON_CHIP = (Buffer.SBUF, Buffer.PSUM)


def later(
    shape: Sizes,
    dtype: Any,
    issue: Callable[[Tile], None],
    *,
    buffer: Buffer = Buffer.SBUF,
    into: tuple[Buffer, ...] = _ON_CHIP,
    exact: bool = False,
    adds: Callable[[Tile], None] | None = None,
    transfer: bool = False,
) -> Tile:
    """A tile of this shape and type in `buffer`, which `issue` fills; see `Pending` for the others."""
    settle()
    result = Tile.of(Root(shape, 0, dtype_of(dtype), buffer))
    SLOT.held = Pending(result, issue, into, exact, adds, line_of(sys._getframe(2)), transfer)
    return result
