"""A problem recorded in pieces: each a few times in a row, the rest at the pace of the last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

import msgspec

from trnbench_emulator.core.scheduler import Mark

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


class Piece(msgspec.Struct, frozen=True):
    """A part of a problem: where each recorded copy of it ends, and how often it occurs in all."""

    ends: tuple[int, ...]
    times: int


class Execution(Protocol):
    """Of one program: `carry_out` records a part behind what is recorded and returns how many instructions
    that are, `again` the same part once more, announced as `repeated`; `restart` drops what is recorded."""

    def carry_out(self, arguments: Any, *, repeated: bool = False) -> int: ...

    def again(self) -> int: ...

    def restart(self) -> None: ...


def record_pieces(
    arguments: Any, parts: Parts, execution: Execution, lengths: dict[Any, int] | None = None
) -> tuple[Piece, ...]:
    """What stands for the problem with these `arguments`, of which `parts` are the parts; empty where it was
    recorded whole. `lengths`: instructions of first pieces that were recorded already; filled."""
    first = parts[0][0]
    known = lengths.get(first, 0) if lengths is not None else 0
    if _too_few(parts) or (known and _too_short(parts, known)):
        execution.carry_out(arguments)
        return ()
    length = execution.carry_out(first, repeated=parts[0][1] > 1)
    if lengths is not None:
        lengths[first] = length
    if _too_short(parts, length):
        execution.restart()
        execution.carry_out(arguments)
        return ()
    pieces: list[Piece] = []
    for number, (part, times) in enumerate(parts):
        begin = pieces[-1].ends[-1] if pieces else 0
        length = execution.carry_out(part, repeated=times > 1) if number else length
        ends = [begin + length]
        while len(ends) < min(times, COPIES):
            settled = len(ends) > 1 and ends[-1] - begin >= SETTLED
            if settled or ends[-1] + length > COPIED:
                break
            ends.append(ends[-1] + execution.again())
        pieces.append(Piece(tuple(ends), times))
    return tuple(pieces)


def recorded_copies(parts: Parts) -> Parts:
    """Of problems that are the same in this and in their machine, those that are recorded in pieces have the
    same instructions: how often a piece occurs beyond its copies is added up afterwards."""
    return tuple((part, min(times, COPIES)) for part, times in parts)


def pieces_again(pieces: Sequence[Piece], parts: Parts) -> tuple[Piece, ...]:
    """Pieces of a problem with the same `recorded_copies`, as they stand for the one of `parts`; empty where
    that one is recorded whole."""
    if _too_few(parts) or _too_short(parts, pieces[0].ends[0]):
        return ()
    return tuple(Piece(piece.ends, times) for piece, (_, times) in zip(pieces, parts, strict=True))


def _too_few(parts: Parts) -> bool:
    return len(parts) > 1 and sum(times for _, times in parts) <= FEW * len(parts)


def _too_short(parts: Parts, length: int) -> bool:
    """`length`: instructions of the first piece."""
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
    """Ticks and what was busy how long, of the whole problem: pieces recorded fewer times than they occur go
    on at the pace of their last copies."""
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
