"""Loops while they are recorded: rounds that leave everything as the round before did are not executed.

The state after a round decides what the next one waits for. Two rounds may do the same and leave the same,
but for numbers of instructions that moved along. Then all rounds that follow do so: the program goes on
with a copy, and the state moves along. Only accesses that move within a tensor that stays are followed one
by one: none of them may have to wait.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trnbench_emulator.core.access import Access, Repeated
from trnbench_emulator.core.banks import Move, go_round
from trnbench_emulator.core.period import Period, Place, has_waited, places_of, proved, stores_of
from trnbench_emulator.core.program import KIND_BITS, Loop
from trnbench_emulator.core.recorded_state import boxes_of
from trnbench_emulator.core.tile import Progression, Sole, Tile, known_box
from trnbench_emulator.nki.memory import Life

if TYPE_CHECKING:
    from trnbench_emulator.core.recorded_state import RecordedState

Ints = npt.NDArray[np.int64]

_LEAST = 3
"""Periods: to leave out fewer, and others after them, costs more than to carry them out: what follows has to
be watched anew."""


def times_of(builder: RecordedState, period: Period, times: int) -> int:
    """How many periods follow, at most `times`, before a tile finds no room or an access has to wait.
    Accesses in tiles that stay are carried out.
    """
    asked, times = times, min(times, period.steady.most)
    for memory, turnover in period.steady.turnovers.items():
        times = min(times, turnover.most)
        if not turnover.dropped:
            pool = builder.pools[memory]
            size = sum(tile.bytes for tile in list(pool.tiles)[-turnover.fresh :])
            times = min(times, (pool.capacity - pool.held) // size)
    if times < min(asked, _LEAST):
        return 0
    reads: dict[Tile, list[Place]] = {}
    checked: dict[Tile, list[Place]] = {}
    for step in period.places:
        tile = step.access.tile
        (checked if tile.unwritten is None else reads).setdefault(tile, []).append(step)
    stored = [stores_of(period.begin, period.length, tile, places, times) for tile, places in checked.items()]
    if all(stored):
        for stores in stored:
            assert stores is not None
            tile, later = stores
            tile.stores, tile.uses = later, {}
            _used(tile, checked[tile], times * period.length)
    else:
        times = _checked(builder, period, checked, times)
    for tile, places in reads.items():
        assert tile.unwritten is not None
        moved = tuple(
            (place.number - period.begin, access.queue, access.form, access.root, place.offset, place.step)
            for place in places
            for access in (place.access,)
        )
        if times:
            tile.unwritten.append(Progression(period.begin, period.length, 1, times, moved))
            _used(tile, places, times * period.length)
    return times


def _used(tile: Tile, places: list[Place], later: int) -> None:
    for place in places:
        tile.users[place.access.queue] = place.number + later


def _checked(builder: RecordedState, period: Period, tiles: dict[Tile, list[Place]], times: int) -> int:
    """How many periods follow without an access that has to wait; they are carried out."""
    if not all(_together(places, times) for places in tiles.values()):
        return 0
    solid = period.now.solid
    moved = [period.length if a != b else 0 for a, b in zip(period.before.solid, solid, strict=True)]
    for turn in range(1, times + 1):
        for places in tiles.values():
            for place in places:
                waits = builder.waits_for(place.access, place.offset + turn * place.step)
                if waits and not has_waited(solid, place.access.queue, waits):
                    return turn - 1
        for places in tiles.values():
            for place in places:
                offset = place.offset + turn * place.step
                builder.move(place.access, offset, place.number + turn * period.length)
        solid = [a + by for a, by in zip(solid, moved, strict=True)]
    return times


def _together(places: list[Place], times: int) -> bool:
    """Do the boxes of a period keep their distance from each other while they move? Reads need not."""
    if len(places) == 1 or not any(place.access.write for place in places):
        return True
    by: set[tuple[int, ...]] = set()
    for access, _, offset, step, _ in places:
        here, there, last = (
            known_box(access.form, access.root, offset + turn * step) for turn in (0, 1, times)
        )
        move = tuple(b - a for a, b in zip(here, there, strict=True))
        if any(c - a != times * b for a, b, c in zip(here, move, last, strict=True)):
            return False
        by.add(move)
    return len(by) == 1


def go_on(builder: RecordedState, period: Period, times: int) -> None:
    """`times` more of the period."""
    program, begin, length = builder.program, period.begin, period.length
    numbered = period.now.numbered - period.before.numbered
    sizes = list(program.psum.sizes[period.before.numbered :]) if numbered else []
    go_round(program.psum, begin, length, times, sizes, _in_banks(builder, period, times))
    program.op.extend(program.op[begin:] * times)
    program.place.extend(program.place[begin:] * times)
    low = bisect_left(program.waiters, begin)
    turns = np.arange(1, times + 1, dtype=np.int64)[:, None]
    _append(program.deps, low, turns * (length << KIND_BITS))
    _append(program.waiters, low, turns * length)
    inner = [run for run in program.loops if run.begin >= begin]
    for turn in range(1, times + 1 if inner else 0):
        program.loops += [Loop(run.begin + turn * length, run.length, run.count) for run in inner]
    program.loops.append(Loop(begin, length, times + 1))
    later = times * length
    if builder.births is not None:
        builder.births.go_on(builder.levels[-1].starts[0], begin, length, times, numbered)
    for memory, (used, count, dropped, _) in period.steady.turnovers.items():
        tiles = list(builder.pools[memory].tiles)
        templates = tiles[len(tiles) - used - count : len(tiles) - used]
        twins = [
            _twin(tile, turn * length, turn * numbered) for turn in range(1, times + 1) for tile in templates
        ]
        builder.turn_over(memory, used, twins, dropped * times)
    for seen in period.steady.moved:
        _move(seen.tile, later, times * numbered if seen.number else 0, program.psum.count)
    for before, after in period.steady.still:
        if before.boxes is None or after.boxes is None or after.tile in period.moving:
            continue
        for (_, users), (_, was), (_, now) in zip(
            boxes_of(after.tile), before.boxes, after.boxes, strict=True
        ):
            for queue in users:
                if now[queue] != was[queue]:
                    users[queue] += later
    changed = [b != a for a, b in zip(period.before.waited, period.now.waited, strict=True)]
    builder.move_waits(changed, later)
    lives = {id(entry.tile.life): entry.tile.life for entry in period.entries if type(entry) is Access}
    for life in lives.values():
        if life.alive:  # until its last use it is held, those of rounds before were so long
            life.last += later


def _append(taken: array[int], low: int, turns: Ints) -> None:
    """All from `low` on again in every turn, as much later as that says."""
    later = turns + np.array(taken[low:], np.int64)
    if later.size:
        taken.frombytes(later.data.cast("B"))


def _twin(tile: Tile, by: int, numbered: int) -> Tile:
    """What a tile that nobody holds any more was to a later period."""
    users = {queue: number + by for queue, number in tile.users.items()}
    life = Life(0, tile.bytes, alive=False, age=-1)
    number = tile.number + numbered if tile.number else 0
    return Tile(life, tile.memory, tile.bytes, tile.born + by, number, users)


def _move(tile: Tile, by: int, numbered: int, count: int) -> None:
    """The tile from now on is that of a later period."""
    tile.born += by
    tile.number += numbered
    for _, users in boxes_of(tile):
        for queue in users:
            users[queue] += by
    if numbered:
        parts: list[Any] = [*tile.uses.values()]
        if isinstance(tile.sole, Sole):
            parts.append(tile.sole)
        for use in parts:
            use.ref += numbered << count


def _in_banks(builder: RecordedState, period: Period, times: int) -> list[Move]:
    """Which banks an access uses in each turn, where it moves along within a tile of PSUM that stays."""
    moving = [tile for tile in period.moving if tile.memory == "psum"]
    if not moving:
        return []
    tiles = {entry.tile for entry in period.entries if type(entry) is Access and entry.tile.memory == "psum"}
    operands: dict[int, int] = {}
    moves: list[Move] = []
    for access, number, offset, step, _ in places_of(period.entries, period.steps, tiles):
        operand = operands.get(number, 0)
        operands[number] = operand + 1
        if step and access.tile in period.moving:
            refs = [builder.ref(access, offset + turn * step) for turn in range(1, times + 1)]
            moves.append((number - period.begin, operand, refs))
    return moves


def skip(builder: RecordedState, period: int, times: int, most: int) -> tuple[int, int]:
    """Leave out those of `times` more of the last `period` rounds that surely repeat them. Returns how many
    rounds that are, and how many instructions, at most `most`.
    """
    levels, log = builder.levels, builder.log
    level = levels[-1]
    if log is None:
        return 0, 0
    builder.look()
    again = proved(builder, period)
    if again is None or again.length * times > most:
        return 0, 0
    times = times_of(builder, again, times)
    if not times:
        return 0, 0
    go_on(builder, again, times)
    level.forget()
    if len(levels) > 1:
        log.append(Repeated(tuple(again.steps), again.length, times))
    else:
        log.clear()
    return times, again.length * times
