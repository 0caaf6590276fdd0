"""What a builder knows between two rounds of a loop, and whether a round leaves all as the round before did.

Then the rounds that follow wait for the same, counted from their own begin. Numbers of instructions either
move along with the rounds or stay; tiles of a round are known by their place among those of their memory.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from trnbench_emulator.core.liveness import Pool
from trnbench_emulator.core.tile import Tile, Users

FOREVER = 1 << 60

Boxes = list[tuple[Any, Users]]


class Seen(msgspec.Struct, eq=False, gc=False):
    """A tile between two rounds. `boxes`: of one that is alive, who used which part of it."""

    tile: Tile
    born: int
    age: int
    number: int
    users: Users
    alive: bool
    boxes: Boxes | None

    def is_(self, later: Seen) -> bool:
        """Is it the same tile? A tile that rounds were left out after stands for one of a later round."""
        return self.tile is later.tile and self.born == later.born


class Turnover(NamedTuple):
    """Of a memory, what each period does to its tiles: the last `used` may still be used after it, it makes
    `made`, and drops the first `gone` that nobody holds. `most`: how many periods more do so alike."""

    used: int
    made: int
    gone: int
    most: int


class Steady(msgspec.Struct):
    """What a period has moved along. `past`: tiles before it that it went on from, or dropped; `moved`: tiles
    that are now what others were before; `still`: tiles that stay, each before and after. `most`: periods
    more for which queues have waited already for what they do not wait for in this one."""

    past: list[Seen]
    moved: list[Seen]
    still: list[tuple[Seen, Seen]]
    turnovers: dict[str, Turnover]
    most: int


class State:
    """After the round that ended before instruction `start`."""

    def __init__(
        self, start: int, pools: Mapping[str, Pool], others: list[Tile], waited: list[int], numbered: int
    ) -> None:
        """`others`: tiles that take no place in `pools`; `waited`: what queues have waited for; `numbered`:
        how many tiles of PSUM there have been."""
        self.start = start
        self.pools = {memory: [_seen(tile) for tile in pool.tiles] for memory, pool in pools.items()}
        self.others = [_seen(tile) for tile in others]
        self.waited = waited
        self.numbered = numbered
        self._asked = [[-1] * (len(self.waited) // 2) for _ in range(4)]  # since then

    @property
    def solid(self) -> list[int]:
        """What queues have waited for, but for buffers."""
        return self.waited[len(self.waited) // 2 :]

    def ask(self, asked: list[list[int]]) -> None:
        """As `Scoreboard.asked_for` told."""
        for at, more in enumerate(asked):
            mine = self._asked[at]
            if at % 2:
                self._asked[at] = list(map(max, mine, more))
            else:
                self._asked[at] = [one if one >= 0 else other for one, other in zip(mine, more, strict=True)]

    def steady(self, now: State, loop: int, age: int, moving: Container[Tile]) -> Steady | None:
        """Did the period from here to `now` leave all as it was, but for what it moved along? `loop`: where
        the loop begins; `age`: by how much tiles of the later period are younger; `moving`: tiles in which
        it moves along, which are not looked at."""
        length = now.start - self.start
        most = self._waits_alike(now, loop, length)
        if not most:
            return None
        if len(self.others) != len(now.others):
            return None
        steady = Steady([], [], list(zip(self.others, now.others, strict=True)), {}, most)
        if not all(one.is_(other) for one, other in steady.still):
            return None
        shift = _Shift(length, age, now.numbered - self.numbered, loop)
        for memory, tiles in self.pools.items():
            if not _turned(tiles, now.pools[memory], memory, shift, steady):
                return None
        for one, other in steady.still:
            if one.alive != other.alive:
                return None
            if one.alive and one.tile not in moving and not _alike(one.boxes, other.boxes, length):
                return None
        return steady

    def _waits_alike(self, now: State, loop: int, length: int) -> int:
        """How many periods more wait for what the one up to `now` has waited for, and for nothing else."""
        most = FOREVER
        firsts, lasts, *buffers = self._asked
        pairs = len(firsts)
        for index, (one, other) in enumerate(zip(self.waited, now.waited, strict=True)):
            first, last = firsts[index % pairs], lasts[index % pairs]
            fixed = first < loop <= last  # who used a tile before the loop is the same in every round
            if last < loop:
                first = last = -1
            if index < pairs and buffers[0][index] >= 0:
                first = min(first, buffers[0][index]) if last >= 0 else buffers[0][index]
                last = max(last, buffers[1][index])
            if other == one + length or (other == one and last < 0):
                continue
            if first > one and first + length > other and not fixed:
                continue  # it waits for the first that it asks for, and what it knew before has no say
            # What it has waited for before is asked for a period later each time.
            if other != one or other - last < length:
                return 0
            most = min(most, (other - last) // length)
        return most


class _Shift(NamedTuple):
    """From one period to the next: instructions, ages of tiles and their numbers. `loop`: where it begins."""

    length: int
    age: int
    numbered: int
    loop: int


def boxes_of(tile: Tile) -> Iterator[tuple[Any, Users]]:
    """Who used a tile, and who wrote and who read each box of it."""
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


def _seen(tile: Tile) -> Seen:
    alive = tile.life.alive
    # What nobody has written, or only stored to, is none of the boxes.
    boxes = None
    if alive and tile.unwritten is None and tile.stores is None:
        boxes = [(box, dict(users)) for box, users in boxes_of(tile)]
    return Seen(tile, tile.born, tile.life.age, tile.number, dict(tile.users), alive, boxes)


def _turned(before: list[Seen], now: list[Seen], memory: str, shift: _Shift, found: Steady) -> bool:
    """Notes in `found` what a period has done to the tiles of a memory. False where the next one may do
    something else."""
    if len(before) == len(now):
        # Each stands where the one of the period before stood, or has stayed.
        pairs = [(one, other) for one, other in zip(before, now, strict=True) if not one.is_(other)]
        if all(_follows(one, other, shift) for one, other in pairs):
            found.still += [(one, other) for one, other in zip(before, now, strict=True) if one.is_(other)]
            found.past += [one for one, _ in pairs]
            found.moved += [other for _, other in pairs]
            return True
    there = {each.tile: each.born for each in before}
    fresh = len(now)
    while fresh and there.get(now[fresh - 1].tile) != now[fresh - 1].born:
        fresh -= 1
    kept, fresh = fresh, len(now) - fresh
    here = {each.tile: each.born for each in now}
    gone = [each for each in before if here.get(each.tile) != each.born]
    stayed = [each for each in before if here.get(each.tile) == each.born]
    if len(stayed) != kept or any(each.alive for each in gone):
        return False
    if not fresh:
        return False
    used = 0
    for back in range(1, min(len(before), len(now)) + 1):
        one, other = before[-back], now[-back]
        if one.born < shift.loop:
            break
        if one.alive and other.alive:
            used = back
    looked = used + fresh
    if looked > min(len(before), len(now)) or before[-looked].born < shift.loop:
        return False
    if not all(map(_follows, before[-looked:], now[-looked:], [shift] * looked)):
        return False
    found.past += [*gone, *before[-looked:]]
    outside = {each.tile for each in before[: len(before) - looked]}
    pairs = list(zip(stayed, now[:kept], strict=True))
    found.still += [(one, other) for one, other in pairs if one.alive | other.alive and one.tile in outside]
    left = [each for each in now[: len(now) - used] if not each.alive]
    found.moved += now[len(now) - used :]
    if gone:
        if sum(each.tile.bytes for each in gone) != sum(each.tile.bytes for each in now[-fresh:]):
            return False
        alike = 0
        for one, other in zip([*gone, *left], left, strict=False):
            if one.tile.bytes != other.tile.bytes or not _later(one.users, other.users, shift.length):
                break
            alike += 1
        found.turnovers[memory] = Turnover(used, fresh, len(gone), alike // len(gone))
    else:
        found.turnovers[memory] = Turnover(used, fresh, 0, FOREVER)
    return True


def _follows(one: Seen, other: Seen, shift: _Shift) -> bool:
    """Does a tile stand for the one of the period before?"""
    if one.tile.bytes != other.tile.bytes or one.alive != other.alive:
        return False
    if one.number and other.number - one.number != shift.numbered:
        return False
    if not _later(one.users, other.users, shift.length):
        return False
    if not one.alive:
        return True
    if other.age - one.age != shift.age:
        return False
    if one.boxes is None or other.boxes is None or len(one.boxes) != len(other.boxes):
        return False
    return all(
        box == other_box and _later(used, using, shift.length)
        for (box, used), (other_box, using) in zip(one.boxes, other.boxes, strict=True)
    )


def _later(used: Users, using: Users, length: int) -> bool:
    return {queue: number + length for queue, number in used.items()} == using


def _alike(before: Boxes | None, now: Boxes | None, length: int) -> bool:
    """Has every user moved along, or stayed?"""
    if before is None or now is None:
        return before is now
    return len(before) == len(now) and all(
        box == other_box
        and used.keys() == using.keys()
        and all(number in (used[queue], used[queue] + length) for queue, number in using.items())
        for (box, used), (other_box, using) in zip(before, now, strict=True)
    )
