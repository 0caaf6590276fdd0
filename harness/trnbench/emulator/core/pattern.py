"""Rounds that were executed, held against each other: what of them repeats.

Two periods have to issue the same on the same tiles, but for offsets that grow, and on tiles of a round: of
the period itself, or of one before it, as long before. A tile of a round is known by the instruction of its
period that used it first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from trnbench.emulator.core.tile import Tile, Users
from trnbench.nki.ledger import Life

if TYPE_CHECKING:
    from trnbench.emulator.core.access import Access, Entry
    from trnbench.emulator.core.recorded_state import RecordedState

UNTOLD: Entry = ()
"""Of an instruction that is not needed no more is told: its operands are tiles of the round."""

_AGES = 6  # periods that a tile may outlive


class Age(msgspec.Struct):
    """The tile that was made in a period that many periods ago. `users`: counted from its period's begin.

    `held`: the life of the one that Python still holds.
    """

    tile: Tile
    users: Users
    held: Life | None = None


class RoundTile(msgspec.Struct):
    """A tile of a round. `at`: the instruction of its period that uses it first; `dies`: counted from the
    same begin. `ages`: that of the last period, and those before it, up to one that is dropped.
    """

    at: int
    dies: int
    ages: list[Age]

    @property
    def users(self) -> Users:
        """Until it is dropped."""
        return self.ages[-1].users


class Operand(msgspec.Struct):
    """`step`: how far a tile that outlives the round is moved by a period; `made`: the tile of a round, made
    `ago` periods before. `waits`: on other uses of the round's own tile.
    """

    access: Access
    step: int = 0
    made: RoundTile | None = None
    ago: int = 0
    new: bool = False
    waits: Users = {}


class Needed(msgspec.Struct):
    """An instruction that has to wait, makes a tile, or uses one that lasts: `at` its place in the period.

    `acting`: those operands for which it does.
    """

    at: int
    queue: int
    operands: list[Operand]
    acting: list[Operand] = []

    def __post_init__(self) -> None:
        self.acting = [each for each in self.operands if each.made is None or each.new or each.waits]


class Pattern(msgspec.Struct):
    """A period that repeats. The instructions that are not needed wait for nothing. `numbered`: how many
    tiles of PSUM it makes. `still`: tiles that last and are used at the same places in every period;
    `accesses`: place, queue, access and step of those to other tiles that last.
    """

    begin: int
    length: int
    needed: list[Needed]
    round_tiles: list[RoundTile]
    lasting: list[Tile]
    numbered: int
    still: dict[Tile, None] = {}
    accesses: list[tuple[int, int, Access, int]] = []

    def __post_init__(self) -> None:
        lasting = [
            (each.at, each.queue, operand.access, operand.step)
            for each in self.needed
            for operand in each.operands
            if operand.made is None
        ]
        moving = {access.tile for _, _, access, step in lasting if step or access.tile.unwritten is not None}
        self.still = {tile: None for tile in self.lasting if tile not in moving}
        self.accesses = [entry for entry in lasting if entry[2].tile in moving]


class Periods:
    """The log of periods that follow each other: the last one, which began at instruction `begin`, and those
    before it. `offset`: from the recording's count of instructions to the program's.
    """

    def __init__(self, log: list[Entry], base: int, begin: int, length: int, back: int, offset: int) -> None:
        """`base`: the instruction of the first entry in `log`; `back`: how many periods are as long."""
        self.log = log
        self.base = base
        self.begin = begin
        self.length = length
        self.count = min(back, 1 + (begin - base) // length if length else 0)
        self.offset = offset
        self._made: dict[int, dict[Tile, tuple[int, int]]] = {}
        self._own: dict[tuple[int, int], RoundTile | None] = {}

    def of(self, ago: int) -> list[Entry]:
        start = self.begin - ago * self.length - self.base
        return self.log[start : start + self.length]

    def entry(self, ago: int, at: int) -> Entry:
        return self.log[self.begin - ago * self.length - self.base + at]

    def age(self, tile: Tile) -> int:
        """How many periods ago it was made."""
        return 0 if tile.born >= self.begin else -((tile.born - self.begin) // self.length)

    def made(self, ago: int) -> dict[Tile, tuple[int, int]]:
        """Tiles of the period `ago` before the last one, each with the place of its first use."""
        found = self._made.get(ago)
        if found is None:
            found = self._made[ago] = {}
            start = self.begin - ago * self.length
            for at, entry in enumerate(self.of(ago)):
                for place, access in enumerate(entry or ()):
                    if access.tile.born == start + at:
                        found.setdefault(access.tile, (at, place))
        return found

    def place(self, tile: Tile, ago: int) -> tuple[int, int] | None:
        """Where its period, `ago` before the last one, makes it."""
        return self.made(ago).get(tile) if ago < self.count else None

    def own(self, place: tuple[int, int]) -> RoundTile | None:
        """The tile that each period makes there; None where they are not alike."""
        if place not in self._own:
            self._own[place] = self._alike(place)
        return self._own[place]

    def _alike(self, place: tuple[int, int]) -> RoundTile | None:
        at, operand = place
        stop = self.begin + self.length
        ages: list[Age] = []
        dies: int | None = None
        for ago in range(min(self.count, _AGES)):
            entry = self.entry(ago, at)
            if entry is None or len(entry) <= operand:
                return None
            tile = entry[operand].tile
            if self.place(tile, ago) != place:
                return None
            start = self.begin - ago * self.length
            users = {queue: number - start for queue, number in tile.users.items()}
            if ages and not _continues(ages[-1], users, ago * self.length, tile):
                return None
            ages.append(Age(tile, users))
            if not tile.bytes or not tile.alive(stop):
                dies = self._died(tile) - start if tile.bytes else 0
                if ago:
                    break  # the first two are looked at in any case
            elif dies is not None:
                return None  # an earlier one is still held
        if dies is None or len(ages) < 2:
            return None
        for ago, each in enumerate(ages):
            tile = each.tile
            start = self.begin - ago * self.length
            if tile.bytes and (dies + start < stop if tile.alive(stop) else self._died(tile) - start != dies):
                return None
        if not ages[0].tile.alive(stop):
            del ages[1:]
        return RoundTile(at, dies, ages)

    def _died(self, tile: Tile) -> int:
        return tile.dies if tile.dies is not None else tile.life.died + self.offset


def _continues(later: Age, users: Users, since: int, tile: Tile) -> bool:
    """Was the tile of the period before used as the `later` one, but for what that is not old enough for?"""
    if (tile.bytes, tile.memory) != (later.tile.bytes, later.tile.memory):
        return False
    return (
        all(at >= since or later.users.get(queue) == at for queue, at in users.items())
        and later.users.keys() <= users.keys()
    )


def pattern(
    builder: RecordedState, log: list[Entry], base: int, begin: int, back: int, offset: int, age: int
) -> Pattern | None:
    """What repeats from `begin` to now as it did just before; None where it does not.

    `base`: the instruction of the first entry in `log`; `back`: how many periods up to now are as long;
    `offset`: from the recording's count of instructions to the program's; `age`: of the first life that may
    have begun in the period before the last.
    """
    stop = len(builder.program)
    length = stop - begin
    periods = Periods(log, base, begin, length, back, offset)
    if periods.count < 2:
        return None
    program = builder.program
    for numbers in (program.op, program.place):
        if numbers[begin - length : begin] != numbers[begin:stop]:
            return None
    made: dict[int, RoundTile] = {}
    # Of a tile: that of the period before, how long ago and where it was made.
    known: dict[Tile, tuple[Tile, int, tuple[int, int], RoundTile]] = {}
    lasting: dict[Tile, None] = {}
    found: list[Needed] = []
    waited: dict[tuple[int, int], int] = {}  # by queue: what it has waited for in this period, at least
    for at, (one, other) in enumerate(zip(periods.of(1), periods.of(0), strict=True)):
        if one is other is UNTOLD:
            continue
        if one is None or other is None or len(one) != len(other):
            return None
        queue = builder.queues[program.op[begin + at]]
        operands: list[Operand] = []
        needed = False
        for place, (a, b) in enumerate(zip(one, other, strict=True)):
            if a.form is not b.form or a.root is not b.root or a.write != b.write:
                return None
            if a.tile is b.tile:
                if b.tile.born >= begin - length and b.tile.life.age >= age:
                    return None  # made in the period before: will the next one use it, too?
                lasting[b.tile] = None
                operands.append(Operand(b, b.offset - a.offset))
                needed = True
                continue
            if a.offset != b.offset:
                return None
            before = known.get(b.tile)
            if before is not None and before[0] is a.tile:
                _, ago, where, own = before
            else:
                ago = periods.age(b.tile)
                where_is = periods.place(b.tile, ago)
                if where_is is None or periods.place(a.tile, ago + 1) != where_is:
                    return None
                of_period = periods.own(where_is)
                if of_period is None:
                    return None
                where, own = where_is, of_period
                known[b.tile] = a.tile, ago, where, own
                made[id(own)] = own
            new = ago == 0 and where == (at, place)
            # Later periods have waited for as much: what is known to have been waited for stays out.
            waits = b.hazards and {
                by: dep for by, dep in b.hazards.items() if dep >> 2 > waited.get((queue, by), -1)
            }
            operands.append(Operand(b, 0, own, ago, new, waits))
            needed = needed or new or bool(waits)
        if not needed:
            continue
        for each in operands:
            for by, dep in each.waits.items():
                waited[queue, by] = max(waited.get((queue, by), -1), dep >> 2)
        found.append(Needed(at, queue, operands))
    round_tiles = list(made.values())
    numbered = _numbered(round_tiles, periods)
    return None if numbered < 0 else Pattern(begin, length, found, round_tiles, list(lasting), numbered)


def _numbered(found: list[RoundTile], periods: Periods) -> int:
    """How many tiles of PSUM a period makes; -1 where their numbers do not grow by as many."""
    inside = [own.ages[0].tile for own in found if own.ages[0].tile.number]
    for tile in inside:
        at, place = periods.made(0)[tile]
        entry = periods.entry(1, at)
        if entry is None or tile.number - entry[place].tile.number != len(inside):
            return -1
    return len(inside)
