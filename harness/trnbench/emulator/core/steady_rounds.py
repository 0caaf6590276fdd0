"""The steady state of rounds while they are recorded: periods that leave a builder as the period before left
it, but for the numbers of instructions.

Then the periods that follow wait for the same, counted from their own begin. Only what they do to tiles
that last and in which they move along has to be worked out, because they may come to another part of those.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trnbench.emulator.core.program import Run
from trnbench.emulator.core.stores import store_of
from trnbench.emulator.core.tile import Progression, Tile, Users

if TYPE_CHECKING:
    from trnbench.emulator.core.pattern import Pattern
    from trnbench.emulator.core.recorded_state import RecordedState

Ints = npt.NDArray[np.int64]
Still = list[tuple[Any, Users]]
"""Boxes of a tile in which no access moves, with their users."""


class After:
    """A builder after the period that began at instruction `start`."""

    def __init__(self, builder: RecordedState, found: Pattern, start: int) -> None:
        self.start = start
        self.tiles: list[tuple[Tile, Users, int | None]] = [
            (tile, dict(tile.users), tile.dies) for pool in builder.pools.values() for tile in pool.tiles
        ]
        self.sizes = [len(pool.tiles) for pool in builder.pools.values()]
        self.still: list[Still] = [
            [(box, dict(users)) for box, users in _boxes(tile)] for tile in found.still
        ]
        self.waited = builder.waits_known()
        builder.asked = 0


def may_be_steady(builder: RecordedState, found: Pattern) -> bool:
    """Could the last period have left the builder like the one before? Not as long as new tiles take the
    places of tiles that were there before the loop: those were freed at times of their own."""
    made = {each.ages[0].tile.memory for each in found.round_tiles if each.ages[0].tile.bytes}
    for memory in made:
        pool = builder.pools[memory]
        if pool.held + max(each.ages[0].tile.bytes for each in found.round_tiles) <= pool.capacity:
            continue
        number = len(builder.program.op)
        oldest = next((tile for tile in pool.tiles if not tile.alive(number)), None)
        if oldest is not None and oldest.born < found.begin - found.length:
            return False
    return True


def moved(builder: RecordedState, before: After, now: After, asked: int) -> npt.NDArray[np.bool_] | None:
    """Which dependencies of the later period moved along with it; None where the two are not alike.

    `asked`: which of `waits_known` the later period has asked for, a bit each.
    """
    length = now.start - before.start
    if before.sizes != now.sizes:
        return None
    for at, (one_at, other_at) in enumerate(zip(before.waited, now.waited, strict=True)):
        if other_at != one_at + length and (other_at != one_at or asked >> at & 1):
            return None
    for (one, used, dies), (other, using, dying) in zip(before.tiles, now.tiles, strict=True):
        if one is other:
            if not one.alive(now.start + length):
                return None
        elif (
            one.bytes != other.bytes
            or (
                not (_dead(one, dies, before.start + length) and _dead(other, dying, now.start + length))
                and (dies is None or dying != dies + length)
            )
            or {queue: number + length for queue, number in used.items()} != using
        ):
            return None
    if not all(map(_alike, before.still, now.still, [length] * len(now.still))):
        return None
    waiters, deps = _period(builder, before.start, length)
    later_waiters, later = _period(builder, now.start, length)
    if len(deps) != len(later) or (waiters != later_waiters).any():
        return None
    along: npt.NDArray[np.bool_] = later == deps + 4 * length
    if not (along | ((later == deps) & (deps >> 2 < before.start))).all():
        return None
    return along


def _dead(tile: Tile, dies: int | None, number: int) -> bool:
    return not tile.life.alive if dies is None else number >= dies


def _boxes(tile: Tile) -> Iterator[tuple[Any, Users]]:
    """Who wrote and who read each box of a tile."""
    yield None, tile.users
    sole = tile.sole
    if sole is not None:
        yield (0, "written", sole.box), sole.written
        yield (0, "read", sole.box), sole.readers
    for group, area in tile.areas.items():
        for box, users in area.writes:
            yield (group, "written", box), users
        for box, users in area.reads.items():
            yield (group, "read", box), users


def _alike(before: Still, now: Still, length: int) -> bool:
    """Has every user moved along, or stayed?"""
    return len(before) == len(now) and all(
        box == other_box
        and used.keys() == using.keys()
        and all(number in (used[queue], used[queue] + length) for queue, number in using.items())
        for (box, used), (other_box, using) in zip(before, now, strict=True)
    )


def go_on(
    builder: RecordedState, found: Pattern, before: After, now: After, along: Any, turn: int, times: int
) -> tuple[int, int]:
    """Append periods after number `turn`, like it. Returns the number of the last one, and how many accesses
    that may have to wait were carried out of the period after it, which has to be worked out."""
    length, start = found.length, turn
    unwritten: dict[int, tuple[Tile, list[Any]]] = {}
    checked: list[Any] = []
    for entry in found.accesses:
        at, queue, access, step = entry
        if access.tile.unwritten is None:
            checked.append(entry)
        else:
            _, each = unwritten.setdefault(id(access.tile), (access.tile, []))
            each.append((at, queue, access.form, access.root, access.offset, step))
    done = 0
    stored = [store_of(found, entry, turn + 1, times) for entry in checked] if turn < times else []
    if all(stored):
        turn = times
    else:
        stored = []
    while turn < times:
        base = found.begin + (turn + 1) * length
        done = 0
        for at, queue, access, step in checked:
            offset = access.offset + (turn + 1) * step
            if builder.clashes(access, offset, queue):
                break
            builder.move(access, offset, base + at, queue, {})
            done += 1
        if done < len(checked):
            break
        turn, done = turn + 1, 0
    more = turn - start
    if not more:
        return turn, done
    for tile, each in unwritten.values():
        assert tile.unwritten is not None
        tile.unwritten.append(Progression(found.begin, length, start + 1, turn, tuple(each)))
        for at, queue, *_ in each:
            tile.users[queue] = found.begin + turn * length + at
    for tile, stores in (each for each in stored if each is not None):
        tile.stores, tile.uses = stores, {}
        at, queue, *_ = stores.each[0]
        tile.users[queue] = found.begin + turn * length + at
    waiters, deps = _period(builder, now.start, length)
    turns = np.arange(1, more + 1, dtype=np.int64)[:, None]
    program = builder.program
    _append(program.deps, deps, turns * (4 * length * along))
    _append(program.waiters, waiters + now.start, turns * np.full(len(waiters), length))
    program.steady.append(Run(before.start, length, turn + 1 - (before.start - found.begin) // length))
    for (tile, _, _), (old, _, _) in zip(now.tiles, before.tiles, strict=True):
        if tile is not old:
            tile.born += more * length
            tile.users = {queue: number + more * length for queue, number in tile.users.items()}
            tile.dies = None if tile.dies is None else tile.dies + more * length
    for tile, one, other in zip(found.still, before.still, now.still, strict=True):
        for (_, users), (_, used), (_, using) in zip(_boxes(tile), one, other, strict=True):
            for queue in users:
                if using[queue] != used[queue]:
                    users[queue] += more * length
    changed = [b != a for a, b in zip(before.waited, now.waited, strict=True)]
    builder.move_waits(changed, more * length)
    return turn, done


def _append(taken: array[int], first: Ints, later: Ints) -> None:
    """`first` in every turn, as much `later` as that says."""
    later += first
    if later.size:
        taken.frombytes(later.data.cast("B"))


def _period(builder: RecordedState, start: int, length: int) -> tuple[Ints, Ints]:
    """Which instructions of the period wait, counted from its begin, and for what."""
    program = builder.program
    low, high = bisect_left(program.waiters, start), bisect_left(program.waiters, start + length)
    return np.array(program.waiters[low:high], np.int64) - start, np.array(program.deps[low:high], np.int64)
