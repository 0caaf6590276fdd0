"""A problem recorded in pieces: copies of each that are recorded, and the pace of the rest.

A copy waits for no operand of another, since each piece has its own tensors. What differs is SBUF and PSUM,
which hold tiles of the copies before: tiles alone are followed, in the order in which they begin and end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from trnbench.record import Record
from trnbench_emulator.core.liveness import later
from trnbench_emulator.core.program import BUFFER, KIND_BITS, KIND_MASK, Program
from trnbench_emulator.core.scheduler import Mark
from trnbench_emulator.core.tile import Tile, Users
from trnbench_emulator.nki.memory import Life

if TYPE_CHECKING:
    from trnbench_emulator.core.builder import Builder


Ints = npt.NDArray[np.int64]

Parts: TypeAlias = Sequence[tuple[Any, int]]
"""The independent parts of a problem: the arguments of each, and how often it occurs."""

WHOLE = 4_000
"""Instructions up to which a problem is recorded whole whose pieces are too short to settle."""

FEW = 3
"""Times that each of several kinds of pieces occurs, on average, up to which a problem is recorded whole."""

COPIES = 9
"""Of a piece that repeats, at most, one behind the other: so up to four that take turns do so twice."""

SETTLED = 1_000
"""Instructions after which the second copy of a piece, or a later one, goes at that pace."""

COPIED = 50_000
"""Instructions of one case up to which pieces are recorded again."""


class Piece(Record):
    """A part of a problem: where each recorded copy of it ends, and how often it occurs in all."""

    ends: tuple[int, ...]
    times: int


def recorded_copies(parts: Parts) -> Parts:
    """The parts with as many occurrences as are recorded. Problems with equal ones have the same
    instructions; the rest is added up afterwards.
    """
    return tuple((part, min(times, COPIES)) for part, times in parts)


def pieces_again(pieces: Sequence[Piece], parts: Parts) -> tuple[Piece, ...]:
    """Pieces of a recorded problem, for the `parts` of another one with equal `recorded_copies`; empty
    where that one is recorded whole.
    """
    if too_few(parts) or too_short(parts, pieces[0].ends[0]):
        return ()
    return tuple(Piece(piece.ends, times) for piece, (_, times) in zip(pieces, parts, strict=True))


def too_few(parts: Parts) -> bool:
    """Whether they occur so rarely that the problem is recorded whole."""
    return len(parts) > 1 and sum(times for _, times in parts) <= FEW * len(parts)


def too_short(parts: Parts, length: int) -> bool:
    """The same of their length; `length`: instructions of the first piece."""
    repeated = sum(times for _, times in parts)
    return repeated > 1 and COPIES * length < SETTLED and repeated * length <= WHOLE


def marks_of(pieces: Sequence[Piece]) -> tuple[int, ...]:
    """Where a schedule has to note what was busy how long, for `whole`."""
    return tuple(end for piece in pieces for end in piece.ends)


def spans(pieces: Sequence[Piece]) -> Iterator[tuple[int, int, int]]:
    """(first instruction, the one after the last, how often) of each recorded copy."""
    begin = 0
    for piece in pieces:
        for copy, end in enumerate(piece.ends, start=1):
            yield begin, end, 1 + (piece.times - copy if copy == len(piece.ends) else 0)
            begin = end


def first_copies(pieces: Sequence[Piece]) -> int:
    """Instructions of one copy of each piece."""
    begins = (0, *(piece.ends[-1] for piece in pieces))
    return sum(piece.ends[0] - begin for piece, begin in zip(pieces, begins, strict=False))


def whole(done: Mark, marks: Sequence[Mark], pieces: Sequence[Piece]) -> tuple[int, dict[str, int]]:
    """Ticks of the whole problem, and how long what was busy. Pieces that occur more often than they are
    recorded go on at the pace of their last copies.
    """
    total, busy, behind = done.total, dict(done.busy), 0
    for piece in pieces:
        begin, behind = behind, behind + len(piece.ends)
        more = piece.times - len(piece.ends)
        if not more:
            continue
        last = marks[behind - 1]
        turns = _turns([mark.total for mark in marks[begin:behind]])
        before = marks[behind - 1 - turns] if behind > turns else None
        past = before.busy if before else {}
        spent = {name: ticks - past.get(name, 0) for name, ticks in last.busy.items()}
        gained = last.total - (before.total if before else 0)
        total += more * max(gained, *spent.values(), 0) // turns
        for name, ticks in spent.items():
            busy[name] += more * ticks // turns
    return total, busy


def _turns(ends: Sequence[int]) -> int:
    """How many of the last copies stand for the rest: those that take turns, the last if nobody can tell."""
    gains = [after - before for before, after in pairwise(ends)]
    for turns in range(1, len(gains) // 2 + 1):
        if gains[-turns:] == gains[-2 * turns : -turns]:
            return turns
    return 1


class Position(Record):
    """Somewhere in a program: instructions and tiles of PSUM before it."""

    instructions: int
    tiles: int

    @classmethod
    def of(cls, program: Program) -> Position:
        return cls(len(program), program.psum.tiles)


class FirstCopy(Record):
    """From `begin` to `end`. By instruction of it, in order: its waits for operands, and the tiles that it is
    the first to use."""

    begin: Position
    end: Position
    events: tuple[tuple[int, list[int], list[Tile]], ...]


def first_copy(builder: Builder, begin: Position, count: int) -> FirstCopy | None:
    """The copy of `count` instructions recorded since `begin`, when `builder.births` began. None where
    tiles do not tell all: then another copy has to be executed.
    """
    births, builder.births = builder.births, None
    assert births is not None
    program, end = builder.program, Position.of(builder.program)
    # When a tile ended is counted in instructions that were issued.
    if not births.followed or births.alive or end.instructions - begin.instructions != count:
        return None
    waits: dict[int, list[int]] = {}
    low = bisect_left(program.waiters, begin.instructions)
    for number, dep in zip(program.waiters[low:], program.deps[low:], strict=True):
        if dep & KIND_MASK != BUFFER:
            waits.setdefault(number, []).append(dep)
    born = births.by_instruction()
    events = [(number, waits.get(number, []), born.get(number, [])) for number in sorted({*waits, *born})]
    return FirstCopy(begin, end, tuple(events))


def once_more(builder: Builder, copy: FirstCopy) -> int:
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
        for tile in born:
            life = Life(0, tile.bytes)
            lives.append((begin + tile.life.died, life))
            builder.add(later(tile, life, by, numbered), freed)
        hazards = {queues[program.op[dep >> KIND_BITS]]: dep + (by << KIND_BITS) for dep in waits}
        builder.wait(number + by, queues[program.op[number]], hazards, freed)
    for _, life in lives:
        life.alive = False
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
