"""Addresses made from a loop's number: they move along, as long as they stay inside."""

from __future__ import annotations

from typing import Any

from trnbench_emulator.nki.loop_index import Index, pinned, settled


def placed(shape: tuple[int, ...], index: tuple[Any, ...]) -> tuple[Any, ...]:
    """`index` of a tensor in plain numbers. Its loops remember for how long it stays inside `shape`."""
    for entry in index:
        if type(entry) is slice:
            if type(entry.start) is Index or type(entry.stop) is Index or type(entry.step) is Index:
                break
        elif type(entry) is Index:
            break
    else:
        return index
    given = sum(each is not Ellipsis for each in index)
    resolved: list[Any] = []
    axis = 0
    for entry in index:
        if entry is Ellipsis:
            axis += len(shape) - given
            resolved.append(entry)
            continue
        size = shape[axis] if axis < len(shape) else 0
        resolved.append(_part(entry, size) if isinstance(entry, slice) else _one(entry, size))
        axis += 1
    return tuple(resolved)


def _one(at: Any, size: int) -> Any:
    _inside(at, size - 1)
    return settled(at)


def _part(part: slice, size: int) -> slice:
    start, stop = part.start, part.stop
    _inside(start, size)
    _inside(stop, size)
    if start is not None or stop is not None:
        # A size that changes from round to round is another instruction.
        pinned((size if stop is None else stop) - (0 if start is None else start))
    return slice(settled(start), settled(stop), pinned(part.step))


def _inside(at: Any, most: int) -> None:
    if isinstance(at, Index) and at >= 0:
        at <= most  # noqa: B015 - the answer is remembered by the loops
