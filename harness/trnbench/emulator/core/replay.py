"""Rounds of a loop that were not executed: what the builder of a program would have made of them.

Two periods of rounds that were executed are held against each other. When they issued the same on the same
tiles, but for offsets that grow, and on tiles of their own, then further periods follow: accesses to tiles
that outlive the round are worked out one by one, as `take` would, and those of the round's own tiles are
as they were.
"""

from __future__ import annotations

import msgspec

from trnbench.emulator.core.banks import Move, go_round
from trnbench.emulator.core.builder import Access, Builder, Entry
from trnbench.emulator.core.hazard import merge
from trnbench.emulator.core.program import Run
from trnbench.emulator.core.stable import After, go_on, moved
from trnbench.emulator.core.tile import Tile, Users
from trnbench.nki.ledger import Life

_TOLD: Entry = ()
"""Of an instruction that is not needed no more is told: its operands are tiles of the round."""


class Own(msgspec.Struct):
    """A tile of a round. `dies`: counted from the round's first instruction; `users`, too.

    `held`: the life of the one that Python still holds, which is that of the last round.
    """

    tile: Tile
    dies: int
    users: Users
    held: Life | None = None


class Operand(msgspec.Struct):
    """`step`: how far a tile that outlives the round is moved by a period; `own`: the tile of a round.

    `waits`: on other uses of the round's own tile.
    """

    access: Access
    step: int = 0
    own: Own | None = None
    new: bool = False
    waits: Users = {}


class Needed(msgspec.Struct):
    """An instruction that has to wait, makes a tile, or uses one that lasts: `at` its place in the period."""

    at: int
    queue: int
    operands: list[Operand]


class Pattern(msgspec.Struct):
    """A period that repeats. The instructions that are not needed wait for nothing."""

    begin: int
    length: int
    needed: list[Needed]
    own: list[Own]
    lasting: list[Tile]
    accesses: list[tuple[int, int, Access, int]] = []  # place, queue, access and step, of lasting tiles

    def __post_init__(self) -> None:
        self.accesses = [
            (each.at, each.queue, operand.access, operand.step)
            for each in self.needed
            for operand in each.operands
            if operand.own is None
        ]


def pattern(
    builder: Builder, log: list[Entry], base: int, begin: int, ages: tuple[int, int], offset: int
) -> Pattern | None:
    """What repeats from `begin` to now as it did just before; None where it does not.

    `base`: the instruction of the first entry in `log`; `ages`: tiles made in the period before, and in
    this one, have more; `offset`: from the recording's count of instructions to the program's.
    """
    stop = len(builder.program)
    length = stop - begin
    before, now = log[begin - length - base : begin - base], log[begin - base :]
    if len(before) != length or length == 0:
        return None
    program = builder.program
    for numbers in (program.op, program.place):
        if numbers[begin - length : begin] != numbers[begin:stop]:
            return None
    made: dict[Tile, Own] = {}
    partner: dict[Tile, Tile] = {}
    lasting: dict[Tile, None] = {}
    found: list[Needed] = []
    waited: dict[tuple[int, int], int] = {}  # by queue: what it has waited for in this period, at least
    for at, (one, other) in enumerate(zip(before, now, strict=True)):
        if one is other is _TOLD:
            continue
        if one is None or other is None or len(one) != len(other):
            return None
        queue = builder.queues[program.op[begin + at]]
        operands: list[Operand] = []
        needed = False
        for a, b in zip(one, other, strict=True):
            if a.form is not b.form or a.root is not b.root or a.write != b.write:
                return None
            if b.tile.life.age < ages[1]:
                if a.tile is not b.tile or a.tile.life.age >= ages[0]:
                    return None
                lasting[b.tile] = None
                operands.append(Operand(b, b.offset - a.offset))
                needed = True
                continue
            if not ages[0] <= a.tile.life.age < ages[1] or a.offset != b.offset:
                return None
            own = made.get(b.tile)
            new = own is None
            if own is None:
                dies = _death(a.tile, b.tile, begin, length, offset)
                if dies is None:
                    return None
                users = {by: number - begin for by, number in b.tile.users.items()}
                own = made[b.tile] = Own(b.tile, dies, users)
                partner[b.tile] = a.tile
            if partner[b.tile] is not a.tile:
                return None
            # Later periods have waited for as much: what is known to have been waited for stays out.
            waits = {by: dep for by, dep in b.waits.items() if dep >> 2 > waited.get((queue, by), -1)}
            operands.append(Operand(b, 0, own, new, waits))
            needed = needed or new or bool(waits)
        for each in operands:
            for by, dep in each.waits.items():
                waited[queue, by] = max(waited.get((queue, by), -1), dep >> 2)
        if needed:
            found.append(Needed(at, queue, operands))
    return Pattern(begin, length, found, list(made.values()), list(lasting))


def _death(one: Tile, other: Tile, begin: int, length: int, offset: int) -> int | None:
    """When a tile of a round is dropped, from the round's begin on; None where it lives for too long."""
    if one.bytes != other.bytes or one.memory != other.memory:
        return None
    if not one.bytes:
        return 0
    stop = begin + length
    if one.alive(stop):
        return None
    dies = _died(one, offset) - (begin - length)
    if other.alive(stop):
        return dies if dies > length - 1 else None
    return dies if _died(other, offset) - begin == dies else None


def _died(tile: Tile, offset: int) -> int:
    return tile.dies if tile.dies is not None else tile.life.died + offset


def repeat(builder: Builder, found: Pattern, times: int, *, logged: bool) -> None:
    """Append `times` more of the period to the program."""
    program, length, begin = builder.program, found.length, found.begin
    stop = begin + length
    program.op.extend(program.op[begin:stop] * times)
    program.place.extend(program.place[begin:stop] * times)
    moving: list[Move] = []
    for one in found.needed:
        inside = [operand for operand in one.operands if operand.access.tile.memory == "psum"]
        for place, operand in enumerate(inside):
            if operand.own is None and operand.step:
                access, by = operand.access, operand.step
                later = [builder.ref(access, access.offset + turn * by) for turn in range(1, times + 1)]
                moving.append((one.at, place, later))
    made = go_round(program.psum, begin, length, times, moving)
    inner = [run for run in program.runs if run.begin >= begin]
    for turn in range(1, times + 1):
        program.runs += [Run(run.begin + turn * length, run.length, run.count) for run in inner]
    log = builder.log if logged else None
    for own in found.own:
        old = own.tile
        if old.dies is None and old.life.alive:
            own.held = old.life
            builder.rename(old, Life(0, old.bytes))
            old.dies = begin + own.dies
    turn, done, tiles = 0, 0, {id(own): own.tile for own in found.own}
    before = After(builder, begin)
    while turn < times:
        turn += 1
        if log is not None:
            log += [_TOLD] * length
        tiles = _tiles(found, begin + turn * length)
        quiet = _round(builder, found, turn, tiles, log, done)
        done = 0
        if turn == times or log is not None:
            continue
        asked = builder.asked
        now = After(builder, begin + turn * length)
        along = moved(builder, before, now, asked) if quiet else None
        if along is not None:
            turn, done = go_on(builder, found, before, now, along, turn, times)
            now = After(builder, begin + turn * length)
        before = now
    for own in found.own:
        if own.held is not None:
            # Another round, or what follows the loop, may use it.
            tile = tiles[id(own)]
            builder.rename(tile, own.held)
            tile.number = own.tile.number + times * made if own.tile.number else 0
            tile.dies = None
            tile.areas = {at: area.later(times * length) for at, area in own.tile.areas.items()}
    for each in found.lasting:
        each.life.last += times * length


def _tiles(found: Pattern, start: int) -> dict[int, Tile]:
    """The tiles of the period that begins at `start`."""
    made: dict[int, Tile] = {}
    for own in found.own:
        old = own.tile
        tile = Tile(Life(0, old.bytes), old.memory, old.bytes, start + own.dies)
        tile.users = {queue: start + at for queue, at in own.users.items()}
        made[id(own)] = tile
    return made


def _round(
    builder: Builder,
    found: Pattern,
    turn: int,
    tiles: dict[int, Tile],
    log: list[Entry] | None,
    carried_out: int,
) -> bool:
    """The period number `turn` after the one that was executed; did no access to a lasting tile have to wait?

    The first `carried_out` of these accesses were made already, and did not.
    """
    length, quiet = found.length, True
    start = found.begin + turn * length
    program, first = builder.program, builder.program.first
    shift = turn * length << 2
    done = 0
    for each in found.needed:
        at = each.at
        if at > done:
            first.extend([len(program.deps)] * (at - done))
        done = at + 1
        number, queue = start + at, each.queue
        waits: Users = {}
        room: Users = {}
        accesses = []
        for operand in each.operands:
            access, tile, offset = operand.access, operand.access.tile, operand.access.offset
            waiting: Users = {}
            if operand.own is None:
                offset += turn * operand.step
                if carried_out:
                    carried_out -= 1
                else:
                    builder.move(access, offset, number, queue, waiting)
                    quiet = quiet and not waiting
            else:
                tile = tiles[id(operand.own)]
                if operand.new:
                    builder.add(tile, number, room)
                if operand.waits:
                    waiting = {other: dep + shift for other, dep in operand.waits.items()}
            if waiting:
                merge(waits, waiting)
            if log is not None:
                accesses.append(Access(tile, access.form, access.root, offset, access.write, waiting))
        if waits or room:
            builder.wait(number, queue, waits, room)
        first.append(len(program.deps))
        if log is not None:
            log[at - length] = tuple(accesses)
    if length > done:
        first.extend([len(program.deps)] * (length - done))
    return quiet
