"""tile[index] of Beta 1: numbers, slices and indices made of nl.arange and nl.mgrid."""

from __future__ import annotations

from typing import Any, TypeVar

from trnbench.errors import KernelError
from trnbench_emulator.nki import site
from trnbench_emulator.nki.beta1.index import Grid, broadcast, whole
from trnbench_emulator.nki.beta1.pending import settle
from trnbench_emulator.nki.beta1.view import BLOCK, FREE, PARTITION, View

AnyView = TypeVar("AnyView", bound=View)
"""A tile: its parts are tiles."""


def picked(tile: AnyView, index: Any) -> AnyView:
    """The view that `index` picks. What leaves the tensor is noted: a mask may keep it inside."""
    if type(index) is tuple and len(index) == len(tile.shape) and not tile.over:
        found = _plain(tile, index)
        if found is not None:
            return found
    entries = _whole_index(tile, index)
    common: tuple[int, ...] = ()
    rows = tile.rows
    for place, entry in enumerate(entries):
        if isinstance(entry, type(tile)):
            entries[place], rows = _read_at_run_time(tile, entry, place, rows)
        if isinstance(entries[place], Grid):
            common = broadcast(common, entries[place].sizes)
    rank = len(common)
    shape: list[int] = []
    strides: list[int] = []
    kinds: list[str] = []
    spread: int | None = None  # where the dimensions of the indices are among those of the result
    block, offset = tile.block, tile.offset
    checks: list[tuple[Any, int, int]] = []
    steps, sorts = [0] * rank, [FREE] * rank
    axis = 0
    for entry in entries:
        if entry is None:
            shape.append(1)
            strides.append(0)
            kinds.append(FREE)
            continue
        size, stride, kind = tile.shape[axis], tile.strides[axis], tile.kinds[axis]
        axis += 1
        if isinstance(entry, Grid):
            if spread is None:
                spread = len(shape)
                shape += common
                strides += [0] * rank
                kinds += [FREE] * rank
            wide = entry.widened(rank)
            move = wide.const
            for place, coefficient in enumerate(wide.coefficients):
                if coefficient:
                    if PARTITION in (kind, sorts[place]) and (steps[place] or kind != sorts[place] != FREE):
                        raise _wrong(tile, "one dimension of the index walks partitions and more")
                    steps[place] += coefficient * stride
                    sorts[place] = kind if kind != FREE else sorts[place]
            low, high = wide.bounds()
            if low < 0 or high >= size:
                checks.append((wide, size, -1))
        elif isinstance(entry, slice):
            start, count, step = _sliced(entry, size)
            move = start
            if count < 1:
                raise _wrong(tile, f"[{entry.start}:{entry.stop}] is empty")
            if start < 0 or start + (count - 1) * step >= size:
                checks.append((Grid(start, (step,), (count,)), size, len(shape)))
            shape.append(count)
            strides.append(step * stride)
            kinds.append(kind)
        else:
            move = _number(tile, entry)
            move += size if move < 0 else 0
            if not 0 <= move < size:
                raise _wrong(tile, f"index {entry} is outside a dimension of size {size}")
        if kind == BLOCK:
            block += move * stride
        else:
            offset += move * stride
    if spread is not None:
        strides[spread : spread + rank] = steps
        kinds[spread : spread + rank] = sorts
    if kinds == [PARTITION]:  # a tile has a free dimension, if only of size 1
        shape.append(1)
        strides.append(0)
        kinds.append(FREE)
    over = tuple((_placed(grid, at, spread or 0, len(shape)), size) for grid, size, at in checks)
    if tile.over and over:
        raise _wrong(tile, "it is indexed twice outside its bounds")
    of_type: Any = type(tile)
    view: AnyView = of_type(
        tile.root, tuple(shape), tuple(strides), tuple(kinds),
        block=block, offset=offset, dtype=tile.dtype, over=over, rows=rows,
    )  # fmt: skip
    return view


def _plain(tile: AnyView, index: tuple[Any, ...]) -> AnyView | None:
    """Where `index` is slices of plain numbers inside a tensor in HBM: most loads and stores."""
    root = tile.root
    if root.axis >= 0:
        return None
    shape, offset = [], tile.offset
    for part, size, stride in zip(index, tile.shape, tile.strides, strict=True):
        if type(part) is not slice or part.step is not None:
            return None
        start, stop = part.start, part.stop
        if type(start) is not int or type(stop) is not int or not 0 <= start < stop <= size:
            return None
        shape.append(stop - start)
        offset += start * stride
    of_type: Any = type(tile)
    view: AnyView = of_type(
        root, tuple(shape), tile.strides, tile.kinds, offset=offset, block=tile.block, dtype=tile.dtype,
        rows=tile.rows,
    )  # fmt: skip
    return view


def _read_at_run_time(tile: View, index: View, at: int, rows: Any) -> tuple[Grid, tuple[View, int, int]]:
    """A tile of indices, one per partition, stands for counters that do not move by themselves."""
    settle()
    if rows is not None or not index.on_chip or tile.on_chip or index.size != index.shape[0]:
        raise KernelError(
            f"{index!r} as an index of {tile!r} ({site.here()})",
            cause="one tile of one index per partition addresses rows of a tensor in HBM",
        )
    shape = index.shape if len(index.shape) > 1 else (*index.shape, 1)
    return Grid(0, (0,) * len(shape), shape), (index, tile.strides[at], tile.shape[at])


def _whole_index(tile: View, index: Any) -> list[Any]:
    """One entry per dimension, and None for each new one."""
    given = list(index) if isinstance(index, tuple) else [index]
    named = sum(each is not None and each is not Ellipsis for each in given)
    if named > len(tile.shape):
        raise _wrong(tile, f"{named} indices for {len(tile.shape)} dimensions")
    if not any(each is Ellipsis for each in given):
        given.append(Ellipsis)
    at = next(n for n, each in enumerate(given) if each is Ellipsis)
    given[at : at + 1] = [slice(None)] * (len(tile.shape) - named)
    return given


def _sliced(part: slice, size: int) -> tuple[int, int, int]:
    step = 1 if part.step is None else int(part.step)
    start = 0 if part.start is None else int(part.start)
    stop = size if part.stop is None else int(part.stop)
    start, stop = (start + size if start < 0 else start), (stop + size if stop < 0 else stop)
    return start, len(range(start, stop, step)), step


def _number(tile: View, given: Any) -> int:
    number = whole(given)
    if number is None:
        raise KernelError(
            f"index of type {type(given).__name__} on {tile!r} ({site.here()})",
            cause="numbers, slices, nl.ds, nl.arange, nl.mgrid and tiles of indices are emulated",
        )
    return number


def _placed(grid: Grid, at: int, spread: int, rank: int) -> Grid:
    """An index over the dimensions of the whole result."""
    first = spread if at < 0 else at
    before, after = first, rank - first - len(grid.sizes)
    return Grid(
        grid.const,
        (0,) * before + grid.coefficients + (0,) * after,
        (1,) * before + grid.sizes + (1,) * after,
    )


def _wrong(tile: View, why: str) -> KernelError:
    return KernelError(f"{tile!r}: {why} ({site.here()})")
