"""A piece once more: what its instructions wait for follows from its first copy, and from whose places its
tiles take.

The tensors that a piece is given are its own, so that no copy waits for the operands of another: within each
all is as it was in the first. What differs is SBUF and PSUM, which hold tiles of the copies before. So tiles
alone are followed, in the order in which they begin and end.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import numpy.typing as npt

from trnbench_emulator.core.births import Birth
from trnbench_emulator.core.program import BUFFER, Loop, Program
from trnbench_emulator.core.tile import Tile, Users
from trnbench_emulator.nki.ledger import Life

if TYPE_CHECKING:
    from trnbench_emulator.core.recorded_state import RecordedState

Ints = npt.NDArray[np.int64]


class Position(msgspec.Struct, frozen=True):
    """Somewhere in a program: instructions, tiles of PSUM and loops before it."""

    instructions: int
    tiles: int
    loops: int

    @classmethod
    def of(cls, program: Program) -> Position:
        return cls(len(program), program.psum.tiles, len(program.loops))


class FirstCopy(msgspec.Struct, frozen=True):
    """From `begin` to `end`. By instruction of it, in order: its waits for operands, and the tiles that it is
    the first to use."""

    begin: Position
    end: Position
    events: tuple[tuple[int, list[int], list[Birth]], ...]


def first_copy(builder: RecordedState, begin: Position, count: int) -> FirstCopy | None:
    """Of `count` instructions recorded since `begin`, when `builder.births` began. None where tiles do not
    tell all: then another copy has to be executed."""
    births, builder.births = builder.births, None
    assert births is not None
    births.look()
    program, end = builder.program, Position.of(builder.program)
    # When a tile ended is counted in instructions that were issued.
    if not births.followed or births.alive or end.instructions - begin.instructions != count:
        return None
    waits: dict[int, list[int]] = {}
    low = bisect_left(program.waiters, begin.instructions)
    for number, dep in zip(program.waiters[low:], program.deps[low:], strict=True):
        if dep & 3 != BUFFER:
            waits.setdefault(number, []).append(dep)
    born: dict[int, list[Birth]] = {}
    for tiles in births.of.values():
        for birth in tiles:
            born.setdefault(birth.born, []).append(birth)
    events = [(number, waits.get(number, []), born.get(number, [])) for number in sorted({*waits, *born})]
    return FirstCopy(begin, end, tuple(events))


def once_more(builder: RecordedState, copy: FirstCopy) -> int:
    """Append another copy behind all that is recorded; returns how many instructions that are."""
    program, queues = builder.program, builder.program.queues
    begin, end = copy.begin.instructions, copy.end.instructions
    by, numbered = len(program) - begin, program.psum.tiles - copy.begin.tiles
    _go_round(program, copy, by, numbered)
    program.op.extend(program.op[begin:end])
    program.place.extend(program.place[begin:end])
    lives: list[tuple[int, Life]] = []
    for number, waits, born in copy.events:
        freed: Users = {}
        if born:
            for died, life in lives:
                life.alive = died > number
            lives = [(died, life) for died, life in lives if life.alive]
        for birth in born:
            life = Life(0, birth.bytes, age=-1)
            lives.append((birth.died, life))
            new = birth.later(by, numbered)
            builder.add(Tile(life, new.memory, new.bytes, new.born, new.number, new.users), freed)
        hazards = {queues[program.op[dep >> 2]]: dep + 4 * by for dep in waits}
        builder.wait(number + by, queues[program.op[number]], hazards, freed)
    for _, life in lives:
        life.alive = False
    for loop in program.loops[copy.begin.loops : copy.end.loops]:
        program.loops += _alike(program, Loop(loop.begin + by, loop.length, loop.count))
    return end - begin


def _go_round(program: Program, copy: FirstCopy, by: int, numbered: int) -> None:
    """The banks of PSUM are the same, counted from those of other tiles."""
    psum = program.psum
    low = bisect_left(psum.owners, copy.begin.instructions)
    high = bisect_left(psum.owners, copy.end.instructions)
    refs = np.array(psum.refs[low:high], np.int64)
    refs += np.where(refs >> psum.count, numbered << psum.count, 0)
    owners = np.array(psum.owners[low:high], np.int64) + by
    psum.refs.frombytes(refs.astype(np.uint64).tobytes())
    psum.owners.frombytes(owners.astype(np.uint64).tobytes())
    psum.sizes.extend(psum.sizes[copy.begin.tiles : copy.end.tiles])


def _alike(program: Program, loop: Loop) -> list[Loop]:
    """The last rounds of `loop`, of which each waits for what the one before does, counted from its own
    begin; fewer than two are none. The first ones may wait for other buffers than in the first copy."""
    low, high = bisect_left(program.waiters, loop.begin), bisect_left(program.waiters, loop.end)
    waiters = np.array(program.waiters[low:high], np.int64) - loop.begin
    turns = waiters // loop.length
    deps = np.array(program.deps[low:high], np.int64) - 4 * loop.length * turns
    waits = np.stack((waiters - loop.length * turns, deps), axis=1)
    counts = np.bincount(turns, minlength=loop.count)
    first = _first_alike(counts[:, None])
    each = int(counts[-1])
    if each:
        rounds = waits[-each * (loop.count - first) :].reshape(loop.count - first, 2 * each)
        first += _first_alike(rounds)
    if loop.count - first < 2:
        return []
    return [Loop(loop.begin + first * loop.length, loop.length, loop.count - first)]


def _first_alike(rows: Ints) -> int:
    """From which row on all are as the last."""
    unlike = np.flatnonzero((rows != rows[-1]).any(1))
    return int(unlike[-1]) + 1 if len(unlike) else 0
