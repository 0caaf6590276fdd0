"""Rounds of a loop that were not executed: what the builder of a program would have made of them.

Accesses to tiles that outlive the round are worked out one by one, as `take` would, and those of tiles of a
round are as they were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnbench.emulator.core.access import Access, Entry
from trnbench.emulator.core.banks import Move, go_round
from trnbench.emulator.core.hazard import merge
from trnbench.emulator.core.pattern import UNTOLD, Pattern, RoundTile
from trnbench.emulator.core.program import Run
from trnbench.emulator.core.steady_rounds import After, go_on, may_be_steady, moved
from trnbench.emulator.core.tile import Tile, Users
from trnbench.nki.ledger import Life

if TYPE_CHECKING:
    from trnbench.emulator.core.recorded_state import RecordedState

_LONGEST_PAUSE = 64


class Tiles:
    """The tiles of rounds by the period that made them, numbered from the one that was executed last."""

    def __init__(self, found: Pattern) -> None:
        self.found = found
        self.turn = 0
        self._of = [[each.tile for each in own.ages] for own in found.round_tiles]  # the last ones first
        self._at = {id(own): at for at, own in enumerate(found.round_tiles)}
        self._most = 1 + max((operand.ago for each in found.needed for operand in each.operands), default=0)

    def make(self) -> None:
        """Those of the next period."""
        self.turn += 1
        found = self.found
        start = found.begin + self.turn * found.length
        for own, tiles in zip(found.round_tiles, self._of, strict=True):
            old = own.ages[0].tile
            tile = Tile(_life(old), old.memory, old.bytes, start + own.at, start + own.dies)
            tile.number = old.number + self.turn * found.numbered if old.number else 0
            tile.users = {queue: start + at for queue, at in own.users.items()}
            tiles.insert(0, tile)
            del tiles[max(self._most, len(own.ages)) :]

    def of(self, own: RoundTile, ago: int) -> Tile:
        """The one that was made `ago` periods before the last."""
        return self._of[self._at[id(own)]][ago]


def repeat(builder: RecordedState, found: Pattern, times: int, *, logged: bool) -> None:
    """Append `times` more of the period to the program."""
    program, length, begin = builder.program, found.length, found.begin
    stop = begin + length
    program.op.extend(program.op[begin:stop] * times)
    program.place.extend(program.place[begin:stop] * times)
    _banks(builder, found, times)
    inner = [run for run in program.runs if run.begin >= begin]
    for turn in range(1, times + 1 if inner else 0):
        program.runs += [Run(run.begin + turn * length, run.length, run.count) for run in inner]
    log = builder.log if logged else None
    tiles = Tiles(found)
    for own in found.round_tiles:
        for ago, age in enumerate(own.ages):
            old, start = age.tile, begin - ago * length
            if old.dies is None and old.life.alive:
                age.held = old.life
                builder.rename(old, _life(old))
                old.dies = start + own.dies
                old.users = {queue: start + at for queue, at in own.users.items()}
    turn = done = next_try = 0
    pause = 1  # periods until the next look: it takes as long as there are tiles
    before: After | None = After(builder, found, begin)
    while turn < times:
        turn += 1
        if log is not None:
            log += [UNTOLD] * length
        tiles.make()
        quiet = _round(builder, found, turn, tiles, log, done)
        done = 0
        if turn == times or log is not None:
            continue
        if before is None:
            if turn >= next_try and may_be_steady(builder, found):
                before = After(builder, found, begin + turn * length)
            continue
        asked = builder.asked
        now = After(builder, found, begin + turn * length)
        along = moved(builder, before, now, asked) if quiet else None
        if along is not None:
            turn, done = go_on(builder, found, before, now, along, turn, times)
            tiles.turn = turn
        else:
            next_try, pause = turn + pause, min(2 * pause, _LONGEST_PAUSE)
        before = None
    for own in found.round_tiles:
        for ago, age in enumerate(own.ages):
            if age.held is not None:
                # Another round, or what follows the loop, may use it.
                tile, start = tiles.of(own, ago), begin + (times - ago) * length
                builder.rename(tile, age.held)
                tile.number = age.tile.number + times * found.numbered if age.tile.number else 0
                tile.dies = None
                tile.born = start + own.at
                tile.users = {queue: start + at for queue, at in age.users.items()}
                if age.tile.unwritten is not None or age.tile.stores is not None:
                    builder.held_against(age.tile)
                sole = age.tile.sole
                tile.sole = None if sole is None else sole.later(times * length)
                tile.areas = {at: area.later(times * length) for at, area in age.tile.areas.items()}
                tile.uses = {}
                age.held.last += times * length
    for each in found.lasting:
        each.life.last += times * length


def _life(tile: Tile) -> Life:
    return Life(0, tile.bytes, age=-1)


def _banks(builder: RecordedState, found: Pattern, times: int) -> None:
    """Note the banks that the periods use."""
    psum = builder.program.psum
    moving: list[Move] = []
    for one in found.needed:
        inside = [operand for operand in one.operands if operand.access.tile.memory == "psum"]
        for place, operand in enumerate(inside):
            if operand.made is None and operand.step:
                access, by = operand.access, operand.step
                later = [builder.ref(access, access.offset + turn * by) for turn in range(1, times + 1)]
                moving.append((one.at, place, later))
    numbers = sorted(own.ages[0].tile.number for own in found.round_tiles)
    made = [psum.sizes[number] for number in numbers if number]
    go_round(psum, found.begin, found.length, times, made, moving)


def _round(
    builder: RecordedState,
    found: Pattern,
    turn: int,
    tiles: Tiles,
    log: list[Entry] | None,
    carried_out: int,
) -> bool:
    """The period number `turn` after the one that was executed. Did no access that moves in a lasting tile
    have to wait?

    The first `carried_out` of these accesses were made already, and did not.
    """
    length, quiet, still = found.length, True, found.still
    start = found.begin + turn * length
    shift = turn * length << 2
    for each in found.needed:
        at = each.at
        number, queue = start + at, each.queue
        waits: Users = {}
        freed: Users = {}
        accesses = []
        for operand in each.operands if log is not None else each.acting:
            access, tile, offset = operand.access, operand.access.tile, operand.access.offset
            waiting: Users = {}
            if operand.made is None:
                offset += turn * operand.step
                checked = tile not in still and tile.unwritten is None
                if carried_out and checked:
                    carried_out -= 1
                else:
                    builder.move(access, offset, number, queue, waiting)
                    quiet = quiet and not (waiting and checked)
            else:
                tile = tiles.of(operand.made, operand.ago)
                if operand.new:
                    builder.add(tile, number, freed)
                if operand.waits:
                    waiting = {other: dep + shift for other, dep in operand.waits.items()}
            if waiting:
                merge(waits, waiting)
            if log is not None:
                accesses.append(Access(tile, access.form, access.root, offset, access.write, waiting))
        if waits or freed:
            builder.wait(number, queue, waits, freed)
        if log is not None:
            log[at - length] = tuple(accesses)
    return quiet
