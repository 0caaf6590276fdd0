"""Steady state of loops on a core: rounds that move every clock alike are filled in, not carried out.

A round (or a few, a *period*) moves every clock of the core by some ticks: its queues, the DMA engines, the
memory, each at its own pace. The next period does the same, as long as every instruction waits for the same
thing as before. That is checked for the period just carried out; then as many periods as it holds for are
filled in.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np
import numpy.typing as npt

from trnbench_emulator.core.core import LAUNCHED, Core, Snapshot
from trnbench_emulator.core.program import BUFFER, KIND_BITS, KIND_MASK, LOAD, QUEUES, Kinds, Loop
from trnbench_emulator.core.rates import FOREVER, Rates, transfers, windows

Ints = npt.NDArray[np.int64]

_SHORT = 32  # instructions: rounds shorter than that are looked at several at once
_LAGS = 4  # periods of up to so many (groups of) rounds are looked for among the last
_TRIES = 12
_GAIN = 1024  # instructions: to fill in fewer costs more than to carry them out


class Folding:
    """Carries out a program on `core` with the results of `core.advance`, to the tick.

    The recording has proved which rounds repeat. From the moment on at which the core moves alike in each
    round, rounds are filled in.
    """

    def __init__(self, core: Core) -> None:
        self.core = core
        self.program = core.program
        worth = (run for run in core.program.loops if run.length * (run.count - 1) >= _GAIN)
        self.loops = sorted(worth, key=lambda run: (run.begin, -run.end))
        self._begins = [run.begin for run in self.loops]
        self._queues = np.array([step[0] for step in core.plain], np.int64)

    def advance(self, begin: int, stop: int) -> None:
        self._walk(begin, stop, 0)

    def _walk(self, begin: int, stop: int, place: int) -> None:
        """`place`: runs from this one on lie inside."""
        place = bisect_left(self._begins, begin, place)
        while place < len(self.loops) and self.loops[place].begin < stop:
            run = self.loops[place]
            if run.end <= stop:
                self.core.advance(begin, run.begin)
                self._repeat(place)
                begin = run.end
                place = bisect_left(self._begins, begin, place + 1)
            else:
                place += 1
        self.core.advance(begin, stop)

    def _repeat(self, place: int) -> None:
        run = self.loops[place]
        turns = come_round(self.core.kinds, run, self.program.psum.count)
        group = -(-_SHORT // (run.length * turns)) * turns
        rounds = Loop(run.begin, run.length * group, run.count // group)
        others = other_banks(self.core.kinds, rounds)
        breaks, ends = set(others), [*others, rounds.count]
        length, number = rounds.length, 0
        seen: list[tuple[int, Snapshot]] = []
        tries = _TRIES
        while number < rounds.count:
            begin = run.begin + number * length
            if number in breaks:
                seen, tries = [], _TRIES
            if tries and (rounds.count - number) * length >= _GAIN:
                now = self.core.snapshot()
                alike = ends[bisect_right(ends, number)]
                skipped = 0
                for before, snapshot in reversed(seen):
                    lag = number - before
                    periods = (alike - number) // lag
                    if periods * lag * length < _GAIN or snapshot.engines_apart() != now.engines_apart():
                        continue
                    skipped = lag * self._jump(begin - lag * length, begin, periods, snapshot, now)
                    if skipped:
                        break
                if skipped:
                    number += skipped
                    seen = []
                    continue
                tries -= bool(seen)
                seen = [*seen[1 - _LAGS :], (number, now)]
            self._walk(begin, begin + length, place + 1)
            number += 1
        self.core.advance(run.begin + rounds.count * length, run.end)

    # A period -----------------------------------------------------------------------------------

    def _jump(self, begin: int, stop: int, periods: int, before: Snapshot, now: Snapshot) -> int:
        """Fill in up to `periods` more of the period from `begin` to `stop`; how many it were."""
        core, length = self.core, stop - begin
        if before.turns != now.turns:
            return 0
        rates = Rates.between(before, now)
        ops = np.frombuffer(core.op, np.uint32, length, 4 * begin)
        queues = self._queues[ops]
        kinds = np.bincount(ops, minlength=len(core.plain))
        if rates is None or not rates.steady(np.flatnonzero(np.bincount(queues)).tolist()):
            return 0
        start, end = part_of(core.start, begin, stop), part_of(core.end, begin, stop)
        cause = part_of(core.cause, begin, stop)
        if (cause == LAUNCHED).any():
            return 0
        if not self._claims(kinds, rates, before, now, int(start.min())):
            return 0
        most = min(periods, self._operands(begin, stop, queues, start, cause, rates))
        if most > 0 and (queues >= LOAD).any():
            moved = np.flatnonzero(queues >= LOAD)
            most = min(most, transfers(core, begin + moved, before, rates))
        throttled = None
        if most > 0 and core.throttle is not None and rates.free[0]:
            mine = np.flatnonzero(queues == 0)
            took = part_of(core.issued, begin, stop)[mine] - start[mine]
            busy = mine[took > 0], took[took > 0]
            begins, pace = start[busy[0]], rates.free[0]
            most, throttled = windows(core.throttle, before, now, begins, busy[1], pace, most)
        if most <= 0:
            return 0
        steps = np.arange(1, most + 1, dtype=np.int64)[:, None]
        free, last = np.array(rates.free)[queues], np.array(rates.last)[queues]
        issued = part_of(core.issued, begin, stop)
        size = length * most
        along = np.where(cause >= 0, length << KIND_BITS, 0)
        for values, first, step in (
            (core.start, start, free), (core.issued, issued, free), (core.end, end, last),
            (core.cause, cause, along),
        ):  # fmt: skip
            filled = part_of(values, stop, stop + size).reshape(most, length)
            np.multiply(steps, step, out=filled)
            filled += first
        self._move(most, rates, queues, kinds, issued - start)
        if throttled is not None:
            core.cold, core.window, core.window_busy = throttled
        return most

    def _claims(self, kinds: Any, rates: Rates, before: Snapshot, now: Snapshot, earliest: int) -> bool:
        """Engines that exclude each other move at one pace, or only one of them is at work."""
        plain = self.core.plain
        pairs = [pair for op in np.flatnonzero(kinds).tolist() for pair in plain[op][7]]
        touched = {own for own, _ in pairs}
        if len({rates.free[queue] for _, queue, _ in touched}) > 1:
            return False
        if any(claim not in before.used or rates.used[claim] != rates.free[claim[1]] for claim in touched):
            return False
        # What is held no longer than when the period began, and not claimed again, excludes nobody.
        return all(now.used.get(rival, 0) <= earliest for _, rival in pairs if rival not in touched)

    def _operands(self, begin: int, stop: int, queues: Any, start: Ints, cause: Ints, rates: Rates) -> int:
        """For how many more periods every instruction waits for what it waited for in this one."""
        core, program = self.core, self.program
        if not core.ordered:
            return FOREVER
        length = stop - begin
        first = part_of(program.first, begin, stop + 1)
        low, high = int(first[0]), int(first[-1])
        deps = part_of(program.deps, low, high)
        owner = np.repeat(np.arange(length), np.diff(first))
        if not core.buffers:
            solid = deps & KIND_MASK != BUFFER
            owner, deps = owner[solid], deps[solid]
        source = deps >> KIND_BITS
        ends = np.frombuffer(core.end, np.int64)
        pace = np.array(rates.last)[self._queue_of(source)]
        own = np.array(rates.free)[queues[owner]]
        # Only an engine sees its own results without a semaphore.
        across = (self._queue_of(source) != queues[owner]) | (queues[owner] >= LOAD)
        waited = cause[owner] == deps
        if (pace[waited] != own[waited]).any():
            return 0
        starts = start[owner]
        seen = ends[source] + core.semaphore * across
        outside = source < begin
        most = FOREVER
        for entry in np.flatnonzero(outside).tolist():
            past = ends[int(source[entry]) : stop : length]
            if waited[entry]:
                most = min(most, _even(past, int(pace[entry])))
            else:
                slack = int(starts[entry] - seen[entry] + ends[source[entry]])
                most = min(most, _sooner(past, int(pace[entry]), slack, int(own[entry])))
            if most <= 0:
                return 0
        faster = ~waited & (pace > own) & ~outside
        if faster.any():
            slacks = starts[faster] - seen[faster] - 1
            most = min(most, int((slacks // (pace[faster] - own[faster])).min()))
        return most

    def _queue_of(self, numbers: Ints) -> Any:
        return self._queues[np.frombuffer(self.core.op, np.uint32)[numbers]]

    def _move(self, periods: int, rates: Rates, queues: Any, kinds: Any, took: Ints) -> None:
        """The core's state after `periods` more, of so many instructions of each kind. `took`: of each, how
        long it keeps its queue."""
        core = self.core
        for queue in range(len(QUEUES)):
            core.free[queue] += periods * rates.free[queue]
            core.last[queue] += periods * rates.last[queue]
        for ring, moved in enumerate(rates.engines):
            core.since[ring] += periods * moved
            core.path[ring] += periods * rates.path[ring]
            core.hbm[ring] += periods * rates.hbm[ring]
        for claim in core.used:
            core.used[claim] += periods * rates.used.get(claim, 0)
        for queue in range(len(QUEUES)):
            core.queue_busy[queue] += periods * int(took[queues == queue].sum())
        for op in np.flatnonzero(kinds).tolist():
            queue, issue, _, spread, hbm, path, *_ = core.plain[op]
            if queue >= LOAD:
                times = periods * int(kinds[op])
                core.dma_busy += times * issue * spread
                core.path_busy += times * path
                core.hbm_busy += times * hbm


def _even(ends: Ints, pace: int) -> int:
    """How many times in a row an instruction, which ended at the first of these, ended `pace` later."""
    late = np.flatnonzero(np.diff(ends) != pace)
    return int(late[0]) if len(late) else FOREVER


def _sooner(ends: Ints, pace: int, start: int, own: int) -> int:
    """How many times in a row an instruction ends before another starts, which does so `own` later each time
    and last at `start`. The ends known are followed by others, `pace` later each."""
    turns = np.arange(len(ends), dtype=np.int64)
    late = np.flatnonzero(ends >= start + turns * own)
    if len(late):
        return int(late[0]) - 1
    intervals = len(ends) - 1
    slack = int(start + intervals * own - ends[-1]) - 1
    return intervals + slack // (pace - own) if pace > own else FOREVER


def part_of(values: Any, begin: int, stop: int) -> Ints:
    """A part of an array of 64-bit integers, in place."""
    return np.frombuffer(values, np.int64, stop - begin, 8 * begin) if stop > begin else np.empty(0, np.int64)


def come_round(kinds: Kinds, loop: Loop, most: int) -> int:
    """After how many rounds, `most` at most, they use the same banks again, as far as they ever do."""
    if not any(kinds.banks):
        return 1
    turns = kinds.turns.get(loop)
    if turns is None:
        rounds = _rounds(kinds, loop)
        lags = range(1, min(most, loop.count // 2) + 1)
        unlike = [int((rounds[lag:] != rounds[:-lag]).any(1).sum()) for lag in lags]
        turns = kinds.turns[loop] = 1 + unlike.index(min(unlike))
    return turns


def other_banks(kinds: Kinds, loop: Loop) -> list[int]:
    """Rounds that use other banks than the round before, in order."""
    if not any(kinds.banks):
        return []
    others = kinds.others.get(loop)
    if others is None:
        rounds = _rounds(kinds, loop)
        others = kinds.others[loop] = (np.flatnonzero((rounds[1:] != rounds[:-1]).any(1)) + 1).tolist()
    return others


def _rounds(kinds: Kinds, loop: Loop) -> npt.NDArray[Any]:
    size = loop.count * loop.length
    return np.frombuffer(kinds.op, np.uint32, size, 4 * loop.begin).reshape(loop.count, loop.length)
