"""The state of a program while it is recorded, and how a round of a loop changes it.

Where a round leaves all as the round before did, those that follow wait for the same, counted from their own
begin. Numbers of instructions move along with the rounds or stay; tiles of a round are known by their place
among those of their memory.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from trnbench_emulator.core.access import Accesses, Entry
from trnbench_emulator.core.liveness import Pool
from trnbench_emulator.core.program import Program
from trnbench_emulator.core.scoreboard import Scoreboard
from trnbench_emulator.core.tile import Tile, Users
from trnbench_emulator.nki.machine import Machine

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
    """What each period does to the tiles of a memory. It makes `fresh` tiles, drops the first `dropped` that
    nobody holds, and may use the last `used` again. `most`: so many periods more do alike.
    """

    used: int
    fresh: int
    dropped: int
    most: int


class Steady(msgspec.Struct):
    """What a period has moved along. `past`: tiles before it that it went on from, or dropped. `moved`:
    tiles that take the place of others. `still`: tiles that stay, before and after. `most`: periods more
    whose queues have waited already for what they need.
    """

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
                self._asked[at] = [
                    first if first >= 0 else second for first, second in zip(mine, more, strict=True)
                ]

    def steady(self, now: State, loop: int, age: int, moving: Container[Tile]) -> Steady | None:
        """What the period from here to `now` moved along; None where it changed anything else.

        `loop`: where the loop begins; `age`: by how much tiles of the later period are younger; `moving`:
        tiles in which the period moves along, which are not compared.
        """
        length = now.start - self.start
        most = self._waits_alike(now, loop, length)
        if not most:
            return None
        if len(self.others) != len(now.others):
            return None
        steady = Steady([], [], list(zip(self.others, now.others, strict=True)), {}, most)
        if not all(before.is_(after) for before, after in steady.still):
            return None
        shift = _Shift(length, age, now.numbered - self.numbered, loop)
        for memory, tiles in self.pools.items():
            if not _turned(tiles, now.pools[memory], memory, shift, steady):
                return None
        for before, after in steady.still:
            if before.alive != after.alive:
                return None
            if before.alive and before.tile not in moving and not _alike(before.boxes, after.boxes, length):
                return None
        return steady

    def _waits_alike(self, now: State, loop: int, length: int) -> int:
        """How many periods more wait for exactly what the period up to `now` has waited for."""
        most = FOREVER
        firsts, lasts, *buffers = self._asked
        pairs = len(firsts)
        for index, (before, after) in enumerate(zip(self.waited, now.waited, strict=True)):
            first, last = firsts[index % pairs], lasts[index % pairs]
            fixed = first < loop <= last  # who used a tile before the loop is the same in every round
            if last < loop:
                first = last = -1
            if index < pairs and buffers[0][index] >= 0:
                first = min(first, buffers[0][index]) if last >= 0 else buffers[0][index]
                last = max(last, buffers[1][index])
            if after == before + length or (after == before and last < 0):
                continue
            if first > before and first + length > after and not fixed:
                continue  # it waits for the first that it asks for, and what it knew before has no say
            # What it has waited for before is asked for a period later each time.
            if after != before or after - last < length:
                return 0
            most = min(most, (after - last) // length)
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


def _turned(before: list[Seen], now: list[Seen], memory: str, shift: _Shift, steady: Steady) -> bool:
    """Note in `steady` what a period has done to the tiles of a memory. False where the next one may do
    something else.
    """
    if len(before) == len(now) and _in_place(before, now, shift, steady):
        return True
    there = {seen.tile: seen.born for seen in before}
    fresh = len(now)
    while fresh and there.get(now[fresh - 1].tile) != now[fresh - 1].born:
        fresh -= 1
    old, fresh = fresh, len(now) - fresh
    here = {seen.tile: seen.born for seen in now}
    dropped = [seen for seen in before if here.get(seen.tile) != seen.born]
    stayed = [seen for seen in before if here.get(seen.tile) == seen.born]
    if len(stayed) != old or any(seen.alive for seen in dropped):
        return False
    if not fresh:
        return False
    used = 0
    for back in range(1, min(len(before), len(now)) + 1):
        earlier, later = before[-back], now[-back]
        if earlier.born < shift.loop:
            break
        if earlier.alive and later.alive:
            used = back
    looked = used + fresh
    if looked > min(len(before), len(now)) or before[-looked].born < shift.loop:
        return False
    if not all(map(_follows, before[-looked:], now[-looked:], [shift] * looked)):
        return False
    steady.past += [*dropped, *before[-looked:]]
    outside = {seen.tile for seen in before[: len(before) - looked]}
    pairs = list(zip(stayed, now[:old], strict=True))
    steady.still += [
        (earlier, later)
        for earlier, later in pairs
        if earlier.alive | later.alive and earlier.tile in outside
    ]
    ended = [seen for seen in now[: len(now) - used] if not seen.alive]
    steady.moved += now[len(now) - used :]
    if not dropped:
        steady.turnovers[memory] = Turnover(used, fresh, 0, FOREVER)
        return True
    if sum(seen.tile.bytes for seen in dropped) != sum(seen.tile.bytes for seen in now[-fresh:]):
        return False
    alike = 0
    for earlier, later in zip([*dropped, *ended], ended, strict=False):
        if earlier.tile.bytes != later.tile.bytes or not _later(earlier.users, later.users, shift.length):
            break
        alike += 1
    steady.turnovers[memory] = Turnover(used, fresh, len(dropped), alike // len(dropped))
    return True


def _in_place(before: list[Seen], now: list[Seen], shift: _Shift, steady: Steady) -> bool:
    """Does each tile stand where the one of the period before stood, or stay? Noted in `steady`."""
    pairs = list(zip(before, now, strict=True))
    moved = [(earlier, later) for earlier, later in pairs if not earlier.is_(later)]
    if not all(_follows(earlier, later, shift) for earlier, later in moved):
        return False
    steady.still += [(earlier, later) for earlier, later in pairs if earlier.is_(later)]
    steady.past += [earlier for earlier, _ in moved]
    steady.moved += [later for _, later in moved]
    return True


def _follows(one: Seen, other: Seen, shift: _Shift) -> bool:
    """Does a tile take the place of the one of the period before?"""
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


class Level(msgspec.Struct, eq=False):
    """A loop that is watched: rounds that were executed. `starts`: the first instruction of each. Since
    rounds were left out: `ages`, the age of the next life, and `logged`, the length of the log.
    `states`: by round, the state when it began.
    """

    starts: list[int] = []
    ages: list[int] = []
    logged: list[int] = []
    states: dict[int, State] = {}

    def forget(self) -> None:
        """Rounds before this moment are not looked at again."""
        self.ages, self.logged, self.states = [], [], {}


class RecordedState(Accesses, Scoreboard):
    """The state of a program while it is recorded: tiles, their users, what queues have waited for.
    `levels`: loops that are watched, the innermost last; `log`: operands of their instructions.
    """

    def __init__(self, machine: Machine) -> None:
        program = Program(machine.psum_banks, machine.psum_bank_bytes)
        Accesses.__init__(self, machine, program)
        Scoreboard.__init__(self, program)
        self.log: list[Entry] | None = None
        self.levels: list[Level] = []

    def look(self) -> None:
        """Note the state between two rounds of the innermost loop."""
        level = self.levels[-1]
        number = len(level.starts)
        if number in level.states:
            return
        asked = self.asked_for()
        for outer in self.levels:
            for state in outer.states.values():
                state.ask(asked)
        program = self.program
        level.states[number] = State(
            len(program.op), self.pools, self.others, self.waits_known(), program.psum.tiles
        )
