"""Views of Beta 1: the part of a tile that an index picks, and the tile as an operand of an instruction."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple, Self

import msgspec
from msgspec.structs import replace

from trnbench.errors import KernelError
from trnbench_emulator.nki import site
from trnbench_emulator.nki.beta1.deferral import settle
from trnbench_emulator.nki.beta1.index import Box, Grid, Mask, box_of, broadcast, entries_of, whole
from trnbench_emulator.nki.beta1.root import Root
from trnbench_emulator.nki.dtype import DType, Sizes
from trnbench_emulator.nki.memory import Buffer, Form, intern
from trnbench_emulator.nki.tensor import IndirectTensor, NkiTensor
from trnbench_emulator.nki.values import as_condition
from trnbench_emulator.nki.view import ends_of

BLOCK, PARTITION, FREE = "block", "partition", "free"
"""Kinds of a tile's dimensions."""


class View(msgspec.Struct, eq=False):
    """Sizes and strides as its user sees them. `kinds` tells blocks, partition and free dimensions apart,
    `over` holds where an index may leave the tensor: a mask has to keep it inside. `rows` is a tile of
    indices that are read at run time, with the step and the number of what they count. `within` is the mask
    of an operand of a product, `tile[mask]`.
    """

    root: Root
    shape: Sizes
    strides: Sizes
    kinds: tuple[str, ...]
    dtype: DType
    block: int = 0
    offset: int = 0
    over: tuple[tuple[Grid, int], ...] = ()
    rows: tuple[View, int, int] | None = None
    within: Any = None

    __bool__ = as_condition

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

    def like(self, shape: Sizes, strides: Sizes, kinds: tuple[str, ...]) -> Self:
        """Another view from the same place on."""
        return replace(self, shape=shape, strides=strides, kinds=kinds)

    def __getitem__(self, index: Any) -> Self:
        """The part that `index` picks. What leaves the tensor is noted: a mask may keep it inside."""
        if index.__class__ is not tuple and isinstance(index, (Mask, bool)):  # a masked operand
            if index is True:
                return self
            return replace(self, within=index if self.within is None else self.within & index)
        if self.within is not None:
            raise _wrong(self, "a masked operand is indexed")
        if (part := self._sliced(index)) is not None:
            return part
        asked = _asked(self, index)
        if asked is not None and (part := self._planned(*asked)) is not None:
            return part
        entries = entries_of(index, len(self.shape))
        named = sum(entry is not None for entry in entries)
        given = index if isinstance(index, tuple) else (index,)
        if {slice, Grid} <= {type(entry) for entry in given}:
            raise KernelError(
                f"{self!r}: nl.arange beside a slice ({site.here()})",
                cause="Beta 1 takes slices or indices made of nl.arange, not both",
                try_="nl.arange in each dimension: nl.arange(128)[:, None], nl.arange(512)[None, :]",
            )
        if named == 2 and len(self.shape) == 1 and self.on_chip:  # its free dimension, of size 1
            return self.like((*self.shape, 1), (*self.strides, 0), (*self.kinds, FREE))[index]
        if named > len(self.shape):
            raise _wrong(self, f"{named} indices for {len(self.shape)} dimensions")
        common: Sizes = ()
        rows = self.rows
        for axis, entry in enumerate(entries):
            if isinstance(entry, View):
                entries[axis], rows = _read_at_run_time(self, entry, axis, rows)
            if isinstance(entries[axis], Grid):
                common = broadcast(common, entries[axis].shape)
        layout = _Layout(self, common, alone=not isinstance(index, tuple))
        for entry in entries:
            layout.add(entry)
        laid_out: Self = layout.view(rows)
        if asked is not None and not laid_out.over:
            if len(_PLANS) >= _MOST:
                _PLANS.clear()
            moves = tuple(map(_move, index, self.shape, self.strides, self.kinds))
            _PLANS[asked[0]] = _Plan(laid_out.shape, laid_out.strides, laid_out.kinds, moves)
        return laid_out

    def _planned(self, key: Any, constants: list[int]) -> Self | None:
        """The part by its plan; None where there is none, or some of it lies outside."""
        plan = _PLANS.get(key)
        if plan is None:
            return None
        block, offset = self.block, self.offset
        for constant, (least, most, of_block, of_offset) in zip(constants, plan.moves, strict=True):
            if not least <= constant <= most:
                return None
            block += constant * of_block
            offset += constant * of_offset
        return type(self)(
            self.root, plan.shape, plan.strides, plan.kinds, self.dtype, block, offset, (), self.rows
        )

    def _sliced(self, index: Any) -> Self | None:
        """The part that a plain slice of each dimension picks, as most indices do; None for others."""
        shape, strides, offset = self.shape, self.strides, self.offset
        if type(index) is not tuple or len(index) != len(shape) or self.over or BLOCK in self.kinds:
            return None
        if len(shape) == 1 and self.on_chip:  # a tile has a free dimension, if only of size 1
            return None
        sizes = []
        for entry, size, stride in zip(index, shape, strides, strict=True):
            if type(entry) is not slice or entry.step is not None:
                return None
            start, stop = entry.start, entry.stop
            start = 0 if start is None else start
            stop = size if stop is None else stop
            if type(start) is not int or type(stop) is not int or not 0 <= start < stop <= size:
                return None
            sizes.append(stop - start)
            offset += start * stride
        return type(self)(
            self.root, tuple(sizes), strides, self.kinds, self.dtype, self.block, offset, (), self.rows
        )

    def operand(self, mask: Any = None) -> NkiTensor:
        """What instructions of today's NKI take: partition first, inside the mask's box.

        Raises `KernelError` where the mask leaves nothing, the tile spans blocks, or an index leaves the
        tensor.
        """
        if self.within is not None:
            raise KernelError(
                f"{self!r} is masked, and this call takes no masked operand ({site.here()})",
                cause="only nl.matmul and nisa.nc_matmul do",
                try_="mask= of the call",
            )
        whole = mask is None or mask is True or (isinstance(mask, Mask) and mask.whole)
        if whole and not self.over and self.rows is None:
            root = self.root
            key = (root.buffer, self.dtype, self.shape, self.strides, self.kinds)
            form = _FORMS.get(key)
            if form is None and (not self.on_chip or PARTITION in self.kinds) and BLOCK not in self.kinds:
                if len(_FORMS) >= _MOST:
                    _FORMS.clear()
                form = _FORMS[key] = _masked(self, None).form
            if form is not None:
                base = root.tile(self.block)
                return NkiTensor(base.storage, form, base.offset + self.offset)
        return _masked(self, mask)


class _Plan(NamedTuple):
    """The layout of what an index picks, whatever its constants: loops come to the same ones again.

    `moves`: of each entry the least and the largest constant inside the tile, and by how much of a block and
    of an offset one more of it moves the part.
    """

    shape: Sizes
    strides: Sizes
    kinds: tuple[str, ...]
    moves: tuple[tuple[int, int, int, int], ...]


def _asked(tile: View, index: Any) -> tuple[Any, list[int]] | None:
    """What the layout of a part depends on, and the constants of the index; None where an entry is neither
    number, counters nor a whole dimension."""
    if type(index) is not tuple or tile.over or len(index) > len(tile.shape):
        return None
    entries: list[Any] = []
    constants = []
    for entry in index:
        kind = type(entry)
        if kind is int:
            entries.append(int)
            constants.append(entry)
        elif kind is Grid:
            entries.append((entry.coefficients, entry.shape))
            constants.append(entry.const)
        elif kind is slice and entry == _WHOLE:
            entries.append(slice)
            constants.append(0)
        else:
            return None
    return (tile.shape, tile.strides, tile.kinds, tuple(entries)), constants


def _move(entry: Any, size: int, stride: int, kind: str) -> tuple[int, int, int, int]:
    low, high = replace(entry, const=0).bounds() if isinstance(entry, Grid) else (0, 0)
    steps = (stride, 0) if kind == BLOCK else (0, stride)
    return (-low, size - 1 - high, *steps)


_WHOLE = slice(None)
_PLANS: dict[Any, _Plan] = {}
_FORMS: dict[Any, Form] = {}
"""Of operands that no mask cuts."""
_MOST = 1 << 14


class _Layout:
    """The layout of a part of a tile, from one entry of an index after the other.

    `common`: the shape of all indices made of counters; `begin`: its first dimension among those of the part.
    `alone`: the index is no tuple, as those of an iteration.
    """

    def __init__(self, tile: View, common: Sizes, *, alone: bool) -> None:
        self.tile = tile
        self.common = common
        self.alone = alone
        self.shape: list[int] = []
        self.strides: list[int] = []
        self.kinds: list[str] = []
        self.begin: int | None = None
        self.block, self.offset = tile.block, tile.offset
        self.checks: list[tuple[Grid, int, int]] = []
        self.steps, self.step_kinds = [0] * len(common), [FREE] * len(common)
        self.axis = 0

    def add(self, entry: Any) -> None:
        """Raises `KernelError` for an entry that is none, or outside its dimension."""
        if entry is None:
            self._dimension(1, 0, FREE)
            return
        tile, axis = self.tile, self.axis
        size, stride, kind = tile.shape[axis], tile.strides[axis], tile.kinds[axis]
        self.axis += 1
        if isinstance(entry, Grid):
            move = self._counters(entry, size, stride, kind)
        elif isinstance(entry, slice):
            move = self._slice(entry, size, stride, kind)
        else:
            number = whole(entry)
            if number is None:
                raise KernelError(
                    f"index of type {type(entry).__name__} on {tile!r} ({site.here()})",
                    cause="numbers, slices, nl.ds, nl.arange, nl.mgrid and tiles of indices are emulated",
                )
            move = number + size if number < 0 else number
            if move >= size and not self.alone:  # a mask may leave nothing of it: x[i + 1, …], mask=i + 1 < n
                self.checks.append((Grid(move, (), ()), size, 0))
            elif not 0 <= move < size:
                raise _wrong(tile, f"index {entry} is outside a dimension of size {size}")
        if kind == BLOCK:
            self.block += move * stride
        else:
            self.offset += move * stride

    def _dimension(self, size: int, stride: int, kind: str) -> None:
        self.shape.append(size)
        self.strides.append(stride)
        self.kinds.append(kind)

    def _counters(self, grid: Grid, size: int, stride: int, kind: str) -> int:
        if self.begin is None:
            self.begin = len(self.shape)
            for common in self.common:
                self._dimension(common, 0, FREE)
        wide = grid.widened(len(self.common))
        steps, kinds = self.steps, self.step_kinds
        for at, coefficient in enumerate(wide.coefficients):
            if coefficient:
                if PARTITION in (kind, kinds[at]) and (steps[at] or kind != kinds[at] != FREE):
                    raise _wrong(self.tile, "one dimension of the index walks partitions and more")
                steps[at] += coefficient * stride
                kinds[at] = kind if kind != FREE else kinds[at]
        low, high = wide.bounds()
        if low < 0 or high >= size:
            self.checks.append((wide, size, -1))
        return wide.const

    def _slice(self, entry: slice, size: int, stride: int, kind: str) -> int:
        start, stop, step = ends_of(entry, size)
        count = len(range(start, stop, step))
        if count < 1:
            raise _wrong(self.tile, f"[{entry.start}:{entry.stop}] is empty")
        if start < 0 or start + (count - 1) * step >= size:
            self.checks.append((Grid(start, (step,), (count,)), size, len(self.shape)))
        self._dimension(count, step * stride, kind)
        return start

    def view(self, rows: Any) -> Any:
        """A tile of this layout."""
        if self.begin is not None:
            common = slice(self.begin, self.begin + len(self.common))
            self.strides[common], self.kinds[common] = self.steps, self.step_kinds
        if self.kinds == [PARTITION]:  # a tile has a free dimension, if only of size 1
            self._dimension(1, 0, FREE)
        tile, begin, rank = self.tile, self.begin or 0, len(self.shape)
        over = tuple((_placed(grid, at, begin, rank), size) for grid, size, at in self.checks)
        if tile.over and over:
            raise _wrong(tile, "it is indexed twice outside its bounds")
        part = tile.like(tuple(self.shape), tuple(self.strides), tuple(self.kinds))
        part.block, part.offset, part.over, part.rows = self.block, self.offset, over, rows
        return part


def _read_at_run_time(tile: View, index: View, at: int, rows: Any) -> tuple[Grid, tuple[View, int, int]]:
    """A tile of indices, one per partition, stands for counters that do not move by themselves."""
    settle()
    count = index.shape[0] if index.shape else 1
    if rows is not None or not index.on_chip or tile.on_chip or index.size != count:
        raise KernelError(
            f"{index!r} as an index of {tile!r} ({site.here()})",
            cause="one tile of one index per partition addresses rows of a tensor in HBM",
        )
    shape = (*index.shape, 1) if len(index.shape) == 1 else index.shape  # of a number none: its axis goes
    return Grid(0, (0,) * len(shape), shape), (index, tile.strides[at], tile.shape[at])


def _placed(grid: Grid, at: int, spread: int, rank: int) -> Grid:
    """An index over the dimensions of the whole result."""
    first = spread if at < 0 else at
    before, after = first, rank - first - len(grid.shape)
    return Grid(
        grid.const,
        (0,) * before + grid.coefficients + (0,) * after,
        (1,) * before + grid.shape + (1,) * after,
    )


def _wrong(tile: View, why: str) -> KernelError:
    return KernelError(f"{tile!r}: {why} ({site.here()})")


def _masked(tile: View, mask: Any) -> NkiTensor:
    box = box_of(mask, tile.shape)
    if box is None:
        raise KernelError(f"the mask leaves nothing of {tile!r} ({site.here()})")
    for counters, size in tile.over:
        _inside(tile, counters, size, box)
    sizes, strides, offset = [], [], tile.offset
    first: tuple[int, int] | None = None
    for (low, high), stride, kind in zip(box, tile.strides, tile.kinds, strict=True):
        offset += low * stride if kind != BLOCK else 0
        if kind == PARTITION:
            first = (high - low, stride)
        elif kind == FREE:
            sizes.append(high - low)
            strides.append(stride)
        elif high - low > 1:
            raise KernelError(
                f"{tile!r} spans {high - low} blocks ({site.here()})",
                cause="an instruction works on one tile: a partition and free dimensions",
                try_="index the dimensions before nl.par_dim with numbers",
            )
    base = tile.root.tile(tile.block)
    if tile.on_chip:
        count, step = first or (1, tile.root.strides[tile.root.axis])
        shape, steps = (count, *(sizes or [1])), (step, *(strides or [1]))
    else:
        shape, steps = tuple(sizes) or (1,), tuple(strides) or (1,)
    if tile.rows is not None:
        index, pace, count = tile.rows
        form = intern(tile.buffer, tile.dtype, shape, steps, "vector" if index.shape else "scalar")
        return IndirectTensor(
            base.storage, form, base.offset + offset, index=index.operand(mask), step=pace, bound=count
        )
    return NkiTensor(base.storage, intern(tile.buffer, tile.dtype, shape, steps), base.offset + offset)


def _inside(tile: View, where: Grid, size: int, box: Box) -> None:
    low, high = where.bounds(box)
    if low < 0 or high >= size:
        raise KernelError(
            f"index {low if low < 0 else high} is outside a dimension of size {size} of "
            f"{tile.dtype.name}{list(tile.root.shape)}@{tile.buffer.value} ({site.here()})",
            try_="keep the index inside with a mask: mask=index < size",
        )
