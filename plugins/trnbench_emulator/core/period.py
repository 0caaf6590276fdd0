"""Two rounds of a loop that were executed, held against each other: is the later one the same again?

Both have to issue the same on the same tiles, but for offsets that grow, and on tiles that a round made
where the other has those made a period earlier.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

from trnbench_emulator.core.access import Access, Entry, Repeated
from trnbench_emulator.core.tile import Tile


class Place(NamedTuple):
    """An access as a period makes it: by which instruction, where, and how far the next one moves it.
    `entry`: the entry of the log it follows from."""

    access: Access
    number: int
    offset: int
    step: int
    entry: int


def steps_of(one: Sequence[Entry], other: Sequence[Entry], length: int, loop: int) -> list[int] | None:
    """By how much each access of the later period is moved on; None where they are not alike. `length`: of
    both in instructions; `loop`: the first instruction of their loop."""
    if len(one) != len(other):
        return None
    steps: list[int] = []
    later: dict[Tile, Tile] = {}
    for a, b in zip(one, other, strict=True):
        if type(a) is not Access or type(b) is not Access:
            if a is None or a != b:
                return None
            steps.append(0)
            continue
        if (
            a.form is not b.form
            or a.root is not b.root
            or a.write != b.write
            or b.number - a.number != length
        ):
            return None
        if a.tile is b.tile:
            if a.born != b.born:
                return None
        elif (
            a.offset != b.offset
            or b.born - a.born != length
            or a.born < loop
            or later.setdefault(a.tile, b.tile) is not b.tile
        ):
            return None
        steps.append(b.offset - a.offset)
    return steps


def places_of(entries: Sequence[Entry], steps: Sequence[int], tiles: Container[Tile]) -> list[Place]:
    """Every access of a period to one of `tiles`, those of inner rounds that were left out, too."""
    places: list[Place] = []
    begins: list[int] = []  # of each entry, its first place
    for index, entry in enumerate(entries):
        begins.append(len(places))
        if type(entry) is Access:
            if entry.tile in tiles:
                places.append(Place(entry, entry.number, entry.offset, steps[index], index))
        elif type(entry) is Repeated:
            first = index - len(entry.steps)
            period = places[begins[first] :] if entry.steps else []
            for turn in range(1, entry.times + 1):
                for access, number, offset, step, origin in period:
                    moved = offset + turn * entry.steps[origin - first]
                    places.append(Place(access, number + turn * entry.length, moved, step, origin))
    return places
