"""The proof that rounds of a loop that follow are like the last ones: they did the same and left the same."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import msgspec

from trnbench_emulator.core.access import Access, Entry
from trnbench_emulator.core.period import Place, places_of, steps_of
from trnbench_emulator.core.program import QUEUES
from trnbench_emulator.core.rounds_state import State, Steady
from trnbench_emulator.core.tile import Tile, Users

if TYPE_CHECKING:
    from trnbench_emulator.core.recorded_state import RecordedState

_WIDTH = len(QUEUES)


class Period(msgspec.Struct):
    """One that repeats: `begin` and `length` in instructions, `steps` by entry of its log. `moving`: tiles
    that stay, in which it moves along, and `places` its accesses to those."""

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
    """The last `period` rounds of the innermost loop, where those that follow are surely like them."""
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
        each.tile: None
        for each, step in zip(entries, steps, strict=True)
        if type(each) is Access and (step or each.tile.unwritten is not None) and each.born < begin
    }
    before, after = level.states[number - period], level.states[number]
    age = level.ages[-period] - level.ages[-2 * period]
    steady = before.steady(after, starts[0], age, moving)
    if steady is None or any(each.tile in moving for each in steady.moved):
        return None
    if not _moves_along(builder, begin, length, steady, moving):
        return None
    places = places_of(entries, steps, moving)
    if not all(has_waited(before.solid, each.access.queue, each.access.hazards) for each in places):
        return None
    return Period(begin, length, entries, steps, before, after, steady, moving, places)


def has_waited(solid: list[int], queue: int, hazards: Users) -> bool:
    """Has the queue waited for all of them?"""
    return all(dep >> 2 <= solid[queue * _WIDTH + other] for other, dep in hazards.items())


def _moves_along(
    builder: RecordedState, begin: int, length: int, steady: Steady, moving: dict[Tile, None]
) -> bool:
    """Does all that the period waits for move along with it?"""
    program = builder.program
    low = bisect_left(program.waiters, begin)
    sources = {dep >> 2 for dep in program.deps[low:]}
    sources = {source for source in sources if source < begin}
    if not sources:
        return True
    along: set[int] = set()
    stays: set[int] = set()
    for one in steady.past:
        along.update(one.users.values())
        for _, users in one.boxes or ():
            along.update(users.values())
    for one, other in steady.still:
        if one.tile in moving or one.boxes is None or other.boxes is None:
            continue
        for (_, used), (_, using) in zip(one.boxes, other.boxes, strict=True):
            for queue, number in used.items():
                (along if using[queue] == number + length else stays).add(number)
    return sources <= along and not sources & stays
