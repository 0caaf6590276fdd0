"""Tile: a Beta 1 tensor or a part of it, its operators, and results that wait for their destination."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any

import msgspec

from trnbench.errors import KernelError
from trnbench_emulator.nki import isa, site
from trnbench_emulator.nki.beta1.deferral import hold, settle, taken
from trnbench_emulator.nki.beta1.index import Grid, box_of
from trnbench_emulator.nki.beta1.root import Root
from trnbench_emulator.nki.beta1.view import BLOCK, FREE, PARTITION, indexed, operand_of
from trnbench_emulator.nki.dtype import DType, dtype_of
from trnbench_emulator.nki.memory import Buffer, intern
from trnbench_emulator.nki.tensor import NkiTensor
from trnbench_emulator.nki.view import reshaped, sizes_of


class Calls:
    """`apply`, `broadcast_to` and `copy` of Beta 1's language."""

    __slots__ = ("apply", "broadcast_to", "copy")

    apply: Callable[..., Any]
    broadcast_to: Callable[..., Any]
    copy: Callable[..., Any]


CALLS = Calls()


class Arithmetic:
    """The operators of a tile."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return _operate("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _operate("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return _operate("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _operate("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return _operate("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _operate("multiply", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _operate("divide", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _operate("divide", other, self)

    def __neg__(self) -> Any:
        return _operate("multiply", self, -1.0)

    def __lt__(self, other: Any) -> Any:
        return _operate("less", self, other)

    def __le__(self, other: Any) -> Any:
        return _operate("less_equal", self, other)

    def __gt__(self, other: Any) -> Any:
        return _operate("greater", self, other)

    def __ge__(self, other: Any) -> Any:
        return _operate("greater_equal", self, other)


def _operate(name: str, left: Any, right: Any) -> Any:
    return CALLS.apply(name, (left, right))


_UNNAMED = 3
"""References to a value that only the call at hand knows: the caller's, ours, and the counting call's."""


class Tile(Arithmetic, msgspec.Struct, eq=False):
    """Sizes and strides as its user sees them. `kinds` tells blocks, partition and free dimensions apart,
    `over` holds where an index may leave the tensor: a mask has to keep it inside. `rows` is a tile of
    indices that are read at run time, with the step and the number of what they count.
    """

    root: Root
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    kinds: tuple[str, ...]
    dtype: DType
    block: int = 0
    offset: int = 0
    over: tuple[tuple[Grid, int], ...] = ()
    rows: tuple[Tile, int, int] | None = None

    @classmethod
    def of(cls, root: Root) -> Tile:
        """All of a tensor."""
        return cls(root, root.shape, root.strides, _kinds(root.axis, len(root.shape)), root.dtype)

    @classmethod
    def holding(cls, tensor: NkiTensor) -> Tile:
        """All of a tensor of today's NKI."""
        return cls.of(Root.holding(tensor))

    @property
    def buffer(self) -> Buffer:
        return self.root.buffer

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def on_chip(self) -> bool:
        return self.root.axis >= 0

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"{self.dtype.name}{list(self.shape)}@{self.buffer.value}"

    # Views --------------------------------------------------------------------------------------

    def __class_getitem__(cls, _: Any) -> type[Tile]:
        """`tensor[mutable]`, an annotation."""
        return cls

    def __getitem__(self, index: Any) -> Tile:
        return indexed(self, index)

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

    def like(self, shape: tuple[int, ...], strides: tuple[int, ...], kinds: tuple[str, ...]) -> Tile:
        """Another view from the same place on."""
        return Tile(
            self.root, shape, strides, kinds, self.dtype, self.block, self.offset, self.over, self.rows
        )

    def expand_dims(self, axis: int) -> Tile:
        """One more free dimension, of size 1."""
        at = axis if axis >= 0 else len(self.shape) + 1 + axis
        return self.like(
            (*self.shape[:at], 1, *self.shape[at:]),
            (*self.strides[:at], 0, *self.strides[at:]),
            (*self.kinds[:at], FREE, *self.kinds[at:]),
        )

    def broadcast_to(self, *shape: Any, **_: Any) -> Tile:
        """Dimensions of size 1 repeated; other partitions are filled by an instruction."""
        view: Tile = CALLS.broadcast_to(self, shape[0] if len(shape) == 1 else shape)
        return view

    def view(self, dtype: Any) -> Tile:
        """The same bytes as another type of the same size."""
        kind = dtype_of(dtype)
        if kind.size != self.dtype.size:
            raise KernelError(f"view: {self!r} cannot be read as {kind} ({site.here()})")
        view = self.like(self.shape, self.strides, self.kinds)
        view.dtype = kind
        return view

    def astype(self, dtype: Any) -> Tile:
        copied: Tile = CALLS.copy(self, dtype=dtype)
        return copied

    def operand(self, mask: Any = None) -> NkiTensor:
        """What instructions of today's NKI take: partition first, inside the mask's box."""
        root = self.root
        whole = self.strides is root.whole and self.shape is root.shape and self.dtype is root.dtype
        return root.tile(0) if whole and mask is None else operand_of(self, mask)

    def overwritten(self, src: Tile, mask: Any = None) -> NkiTensor:
        """This tile as the destination of a transfer. Where that brings all of it anew from HBM, the
        compiler of Beta 1 has a place of its own for it, and nothing waits for those who still read. A mask
        that lets everything through leaves nothing out."""
        unmasked = mask is None or box_of(mask, self.shape) == box_of(None, self.shape)
        if unmasked and src.root.axis < 0 and self._is_all_of_a_place():
            self.root.renew(self.block)
        return self.operand(mask)

    def _is_all_of_a_place(self) -> bool:
        root = self.root
        if self.strides is root.whole and self.shape is root.shape:
            return root.buffer is Buffer.SBUF
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

    def is_all_of(self, root: Root) -> bool:
        return (
            self.root is root
            and not (self.block or self.offset)
            and (self.shape, self.strides) == (root.shape, root.strides)
        )

    def fitted(self, shape: tuple[int, ...]) -> Tile | None:
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
        if isinstance(value, Tile):
            held = taken(value)
            if held is not None:
                fits = dst.buffer in held.into and (not held.exact or dst.dtype is value.dtype)
                fits = fits and value.is_all_of(held.result.root)
                target = dst if dst.over else dst.fitted(value.shape)
                unnamed = sys.getrefcount(value) <= _UNNAMED + (value is held.result)
                if fits and target is not None and unnamed:
                    held.issue(target)
                    return
                held.issue(held.result)
            settle()
            isa.tensor_copy(*_aligned(dst, value))
            return
        settle()
        isa.memset(dst.operand(), value)

    def __iadd__(self, value: Any) -> Any:
        return self._in_place("add", value)

    def __isub__(self, value: Any) -> Any:
        return self._in_place("subtract", value)

    def __imul__(self, value: Any) -> Any:
        return self._in_place("multiply", value)

    def _in_place(self, name: str, value: Any) -> Tile:
        held = taken(value)
        if held is not None:
            if name == "add" and value.is_all_of(value.root) and held.adds and self.buffer is Buffer.PSUM:
                target = self.fitted(value.shape)
                if target is not None:
                    held.add(target)
                    return self
            held.issue(held.result)
        settle()
        CALLS.apply(name, (self, value), into=self)
        return self


@cache
def _kinds(axis: int, rank: int) -> tuple[str, ...]:
    kinds = (*[BLOCK] * max(axis, 0), *([PARTITION] if axis >= 0 else []))
    return (*kinds, *[FREE] * (rank - len(kinds)))


def _aligned(dst: Tile, src: Tile) -> tuple[NkiTensor, NkiTensor]:
    target = dst if dst.over else dst.fitted(src.shape)
    if target is None:
        wide: Tile = CALLS.broadcast_to(src, dst.shape)
        settle()
        return dst.operand(), wide.operand()
    return target.operand(), src.operand()


_ON_CHIP = (Buffer.SBUF, Buffer.PSUM)


def later(
    shape: tuple[int, ...],
    dtype: Any,
    issue: Callable[[Tile], None],
    *,
    buffer: Buffer = Buffer.SBUF,
    into: tuple[Buffer, ...] = _ON_CHIP,
    exact: bool = False,
    adds: Callable[[Tile], None] | None = None,
) -> Tile:
    """A tile of this shape and type in `buffer`, which `issue` fills; see `Pending` for the others."""
    settle()
    result = Tile.of(Root(shape, 0, dtype, buffer))
    hold(result, issue, into, exact, adds)
    return result
