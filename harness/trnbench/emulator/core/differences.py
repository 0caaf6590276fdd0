"""Rounds of a loop that are not like the one before: other instructions, other banks, or other waits."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trnbench.emulator.core.program import Kinds, Loop, Program

Ints = npt.NDArray[np.int64]


def come_round(kinds: Kinds, run: Loop, most: int) -> int:
    """After how many rounds, `most` at most, they use the same banks again, as far as they ever do."""
    if not any(kinds.banks):
        return 1
    found = kinds.turns.get(run)
    if found is None:
        count, length = run.count, run.length
        ops = np.frombuffer(kinds.op, np.uint32, count * length, 4 * run.begin).reshape(count, length)
        lags = range(1, min(most, count // 2) + 1)
        unlike = [int((ops[lag:] != ops[:-lag]).any(1).sum()) for lag in lags]
        found = kinds.turns[run] = 1 + unlike.index(min(unlike))
    return found


def different(program: Program, kinds: Kinds, run: Loop) -> frozenset[int]:
    """Rounds that differ from the round before: in their kinds, or in what they wait for."""
    found = kinds.breaks.get(run)
    if found is None:
        found = kinds.breaks[run] = _different(program, kinds, run)
    return found


def _different(program: Program, kinds: Kinds, run: Loop) -> frozenset[int]:
    count, length = run.count, run.length
    # Of rounds that the recording has followed only the banks may be others.
    found: set[int] = set()
    begin = 0
    for known in (each for each in program.proved if _tells(each, run)):
        first, last = -(-(known.begin - run.begin) // length), (known.end - run.begin) // length
        found |= _compared(program, kinds, run, begin, max(first, 0) + 1)
        begin = min(last, count) - 1
    found |= _compared(program, kinds, run, begin, count)
    if any(kinds.banks):
        ops = np.frombuffer(kinds.op, np.uint32, count * length, 4 * run.begin).reshape(count, length)
        found |= set((np.flatnonzero((ops[1:] != ops[:-1]).any(1)) + 1).tolist())
    return frozenset(found)


def _tells(known: Loop, run: Loop) -> bool:
    """Do some rounds of `run` consist of whole periods of `known`?"""
    return (
        known.begin + 2 * run.length <= run.end
        and known.end >= run.begin + 2 * run.length
        and known.end - known.begin >= 3 * run.length
        and run.length % known.length == 0
        and (known.begin - run.begin) % known.length == 0
    )


def _compared(program: Program, kinds: Kinds, run: Loop, begin: int, end: int) -> set[int]:
    """Of rounds `begin` to `end`."""
    count, length, start = end - begin, run.length, run.begin + begin * run.length
    if count < 2:
        return set()
    ops = np.frombuffer(kinds.op, np.uint32, count * length, 4 * start).reshape(count, length)
    first = part_of(program.first, start, start + count * length + 1)
    sizes = np.diff(first).reshape(count, length)
    alike = (ops[1:] == ops[:-1]).all(1) & (sizes[1:] == sizes[:-1]).all(1)
    deps = part_of(program.deps, int(first[0]), int(first[-1]))
    # Of each round that has as many dependencies as the one before, dependency by dependency.
    counts = np.diff(first[::length])
    behind = np.repeat(np.append(0, counts[:-1]), counts)
    held = np.repeat(np.append(False, alike), counts)
    other, rounds = deps[held], np.repeat(np.arange(count), counts)[held]
    one = deps[np.flatnonzero(held) - behind[held]]
    same = (other == one + 4 * length) | ((other == one) & (one >> 2 < run.begin))
    alike[rounds[~same] - 1] = False
    return set((np.flatnonzero(~alike) + 1 + begin).tolist())


def part_of(values: Any, begin: int, stop: int) -> Ints:
    """A part of an array of 64-bit integers, in place."""
    return np.frombuffer(values, np.int64, stop - begin, 8 * begin) if stop > begin else np.empty(0, np.int64)
