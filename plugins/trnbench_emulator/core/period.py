"""A period of a loop: the proof that the rounds that follow repeat the last ones.

Two rounds issue the same on the same tiles, but for offsets that grow and tiles made a period earlier.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Sequence
from typing import NamedTuple

import msgspec

from trnbench_emulator.core.access import Access, Entry, Repeated
from trnbench_emulator.core.program import KIND_BITS, QUEUES
from trnbench_emulator.core.recorded_state import RecordedState, State, Steady
from trnbench_emulator.core.scoreboard import ROWS, overlap
from trnbench_emulator.core.tile import Box, Progression, Tile, Users, direct_box


class Place(NamedTuple):
    """An access of a period: its instruction, its offset, and how far the next period moves it. `entry`:
    its entry of the log.
    """

    access: Access
    number: int
    offset: int
    step: int
    entry: int


def steps_of(one: Sequence[Entry], other: Sequence[Entry], length: int, loop: int) -> list[int] | None:
    """How far each access of the later period is moved; None where the periods differ. `length`:
    instructions of each; `loop`: the first instruction of their loop.
    """
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
    """Each access of a period to one of `tiles`, with those of inner rounds that were left out."""
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


_WIDTH = len(QUEUES)


class Period(msgspec.Struct):
    """A period that repeats: `begin` and `length` in instructions, `steps` by entry of its log. `moving`:
    tiles that stay, in which it moves along; `places`: its accesses to those.
    """

    begin: int
    length: int
    entries: list[Entry]
    steps: list[int]
    before: State
    now: State
    steady: Steady
    moving: dict[Tile, None]
    places: list[Place]


def proved(builder: RecordedState, period: int) -> Period | None:
    """The period of the last `period` rounds of the innermost loop; None unless those that follow are
    surely like it.
    """
    level, log, program = builder.levels[-1], builder.log, builder.program
    starts = level.starts
    number, now = len(starts), len(program.op)
    if log is None or len(level.logged) < 2 * period or number - period not in level.states:
        return None
    begin, former = starts[-period], starts[-2 * period]
    length = now - begin
    if begin - former != length:
        return None
    for numbers in (program.op, program.place):
        if numbers[former:begin] != numbers[begin:now]:
            return None
    cut = level.logged[-period]
    entries = log[cut:]
    steps = steps_of(log[level.logged[-2 * period] : cut], entries, length, starts[0])
    if steps is None:
        return None
    moving = {
        entry.tile: None
        for entry, step in zip(entries, steps, strict=True)
        if type(entry) is Access and (step or entry.tile.unwritten is not None) and entry.born < begin
    }
    before, after = level.states[number - period], level.states[number]
    age = level.ages[-period] - level.ages[-2 * period]
    steady = before.steady(after, starts[0], age, moving)
    if steady is None or any(entry.tile in moving for entry in steady.moved):
        return None
    if not _moves_along(builder, begin, length, steady, moving):
        return None
    places = places_of(entries, steps, moving)
    if not all(has_waited(before.solid, entry.access.queue, entry.access.hazards) for entry in places):
        return None
    return Period(begin, length, entries, steps, before, after, steady, moving, places)


def has_waited(solid: list[int], queue: int, hazards: Users) -> bool:
    """Has the queue waited for all of them?"""
    return all(dep >> KIND_BITS <= solid[queue * _WIDTH + source] for source, dep in hazards.items())


def _moves_along(
    builder: RecordedState, begin: int, length: int, steady: Steady, moving: dict[Tile, None]
) -> bool:
    """Does all that the period waits for move along with it?"""
    program = builder.program
    low = bisect_left(program.waiters, begin)
    sources = {dep >> KIND_BITS for dep in program.deps[low:]}
    sources = {source for source in sources if source < begin}
    if not sources:
        return True
    along: set[int] = set()
    stays: set[int] = set()
    for before in steady.past:
        along.update(before.users.values())
        for _, users in before.boxes or ():
            along.update(users.values())
    for before, after in steady.still:
        if before.tile in moving or before.boxes is None or after.boxes is None:
            continue
        for (_, used), (_, using) in zip(before.boxes, after.boxes, strict=True):
            for queue, number in used.items():
                (along if using[queue] == number + length else stays).add(number)
    return sources <= along and not sources & stays


_SIDES = 4  # of a box of rows and bytes
_FEW = 3  # periods: fewer are followed one by one
_BOXES = 48  # of a group of rows: so few are never drawn together
_BESIDE = 16  # as many, beside boxes that touch each other: drawn together, these hold nothing else


def stores_of(
    begin: int, length: int, tile: Tile, places: list[Place], times: int
) -> tuple[Tile, Progression] | None:
    """The writes to a tile in `times` periods after the one that began at instruction `begin`. None where
    one of them might have to wait. They are not among the boxes of their tile until it is used
    otherwise.
    """
    (access, number, offset, step, _), *more = places
    read = any(area.reads for area in tile.areas.values())
    if not access.write or more or read or times < _FEW:
        return None
    boxes = [direct_box(access.form, access.root, offset + turn * step) for turn in (1, 2, times)]
    if len(boxes[0]) > _SIDES or not _lined_up(boxes, times - 1):
        return None
    hull = tuple((max if side % 2 else min)(ends) for side, ends in enumerate(zip(*boxes, strict=True)))
    written = [area.writes for group, area in tile.areas.items() if _within(group, hull)]
    if any(overlap(box, hull) for writes in written for box, _ in writes):
        return None
    before = max(map(len, written), default=0)
    rows, columns = boxes[0][1] - boxes[0][0], boxes[0][3] - boxes[0][2]
    down, along = abs(boxes[1][0] - boxes[0][0]), abs(boxes[1][2] - boxes[0][2])
    touching = (down, along) in ((rows, 0), (0, columns))
    most = (ROWS + rows) // down + 1 if down else times
    if before + most > _BOXES and not (touching and before <= _BESIDE):
        return None
    store = (number - begin, access.queue, access.form, access.root, offset, step)
    return tile, Progression(begin, length, 1, times, (store,))


def _lined_up(boxes: list[Box], turns: int) -> bool:
    """Are they of one size, as far from each other as the first two, and are no two of them in one place?"""
    first, two, last = boxes
    steps = [b - a for a, b in zip(first, two, strict=True)]
    if steps[0] != steps[1] or steps[2] != steps[3]:
        return False
    if any(c - a != turns * step for a, c, step in zip(first, last, steps, strict=True)):
        return False
    return abs(steps[0]) >= first[1] - first[0] or abs(steps[2]) >= first[3] - first[2]


def _within(group: int, hull: Box) -> bool:
    """Are rows of the hull in this group?"""
    return hull[0] < (group + 1) * ROWS and group * ROWS < hull[1]
