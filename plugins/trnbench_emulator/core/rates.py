"""By how much a period of a loop moves each clock of a core, and the tensor engine's windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from trnbench_emulator.core.core import Core, Snapshot, delay
from trnbench_emulator.core.pace import Claim, Throttle
from trnbench_emulator.core.program import GPSIMD, GPSIMD_RING, LOAD, SCALAR, SCALAR_RING

FOREVER = 1 << 60

_ENGINE = {SCALAR_RING: SCALAR, GPSIMD_RING: GPSIMD}
"""In whose queue the triggers of a ring stand."""


class Rates(msgspec.Struct, frozen=True):
    """In ticks per period. `free`: when a queue takes the next instruction; `last`: the end of its latest."""

    free: tuple[int, ...]
    last: tuple[int, ...]
    engines: tuple[int, ...]
    path: tuple[int, ...]
    hbm: tuple[int, ...]
    used: Mapping[Claim, int]

    @classmethod
    def between(cls, before: Snapshot, now: Snapshot) -> Rates | None:
        """None where the DMA engines have not moved together, as a ring sees them."""
        engines = _moved([ring[0] for ring in before.engines], [ring[0] for ring in now.engines])
        for moved, ring_before, ring_now in zip(engines, before.engines, now.engines, strict=True):
            if any(step != moved for step in _moved(ring_before, ring_now)):
                return None
        return cls(
            _moved(before.free, now.free),
            _moved(before.last, now.last),
            engines,
            _moved(before.path, now.path),
            _moved(before.hbm, now.hbm),
            {claim: ticks - before.used.get(claim, 0) for claim, ticks in now.used.items()},
        )

    def steady(self, queues: list[int]) -> bool:
        """A compute engine ends its instructions at the pace at which it begins them, triggers among them."""
        return all(
            self.free[queue] == (self.last[queue] if queue < LOAD else self.free[_ENGINE.get(queue, queue)])
            for queue in queues
        )


def _moved(before: Sequence[int], now: Sequence[int]) -> tuple[int, ...]:
    return tuple(b - a for a, b in zip(before, now, strict=True))


def transfers(core: Core, numbers: Any, before: Snapshot, rates: Rates) -> int:
    """For how many more periods transfers `numbers` get their engines, way and memory as in this one.

    Carries them out once more from the state `before` the period, each clock together with its rate. As in
    `Core`, the engines of a ring count from `since`.
    """
    if _together(core, numbers, rates):
        return FOREVER
    limit = Limit()
    wins, later = limit.wins, limit.later
    rings, everyone = [list(ring) for ring in before.engines], len(before.engines[0])
    since = [0] * len(rings)
    path, hbm = list(before.path), list(before.hbm)
    last = list(before.last)
    plain, op_of, starts = core.plain, core.op, core.start
    for number in numbers.tolist():
        queue, issue, latency, spread, hbm_ticks, path_ticks, floor, *_ = plain[op_of[number]]
        pace = rates.free[queue]
        begin = starts[number] + latency
        ring = queue - LOAD
        engines, moving, others = rings[ring], rates.engines[ring], core.others[ring]
        alike = engines[0] == engines[-1]
        # All engines move at one rate, so that their order stays; the first to be free is the first to lose.
        if moving != pace and not wins(engines[0] + since[ring], moving, begin, pace):
            return 0
        ready = begin - since[ring]
        if alike and spread == everyone:
            since[ring] += max(ready, engines[0]) + issue - engines[0]
            finished = engines[0] + since[ring]
        else:
            engines[:spread] = [max(ready, engine) + issue for engine in engines[:spread]]
            finished = engines[spread - 1] + since[ring]
            engines.sort()
        delay(rings, since, others, spread, issue)
        done, done_pace = begin + floor, pace
        if moving != pace:
            done, done_pace = later(done, pace, finished, moving)
        elif finished > done:
            done = finished
        for clock, ticks, speed in ((path, path_ticks, rates.path), (hbm, hbm_ticks, rates.hbm)):
            if not ticks:
                continue
            free, moved = clock[ring], speed[ring]
            if moved != pace and not wins(free, moved, begin, pace):
                return 0
            clock[ring] = free = (free if free > begin else begin) + ticks
            for other in others:
                clock[other] += ticks
            if moved != done_pace:
                done, done_pace = later(done, done_pace, free, moved)
            elif free > done:
                done = free
        if rates.last[queue] != done_pace:
            done, done_pace = later(done, done_pace, last[queue], rates.last[queue])
            if done_pace != rates.last[queue]:
                return 0
        elif last[queue] > done:
            done = last[queue]
        last[queue] = done
    return limit.periods


def _together(core: Core, numbers: Any, rates: Rates) -> bool:
    """Do all clocks that these transfers meet move at one rate?"""
    paces: set[int] = set()
    for op in {core.op[number] for number in numbers.tolist()}:
        queue, _, _, _, hbm, path, *_ = core.plain[op]
        ring = queue - LOAD
        paces |= {rates.free[queue], rates.last[queue], rates.engines[ring]}
        if path:
            paces.add(rates.path[ring])
        if hbm:
            paces.add(rates.hbm[ring])
    return len(paces) == 1


class Limit:
    """How long the later of two moments stays the later, each moving at another rate."""

    def __init__(self) -> None:
        self.periods = FOREVER

    def later(self, one: int, pace: int, other: int, other_pace: int) -> tuple[int, int]:
        """The later of both, which differ in their rates, and its rate; of equal ones the faster."""
        if (other, other_pace) > (one, pace):
            one, pace, other, other_pace = other, other_pace, one, pace
        if other_pace > pace:
            self.periods = min(self.periods, (one - other) // (other_pace - pace))
        return one, pace

    def wins(self, clock: int, rate: int, begin: int, pace: int) -> bool:
        """Is a clock, which moves at another rate, the later of both?"""
        ahead = clock - begin
        if ahead < 0 or (not ahead and pace > rate):
            return False
        if pace > rate:
            self.periods = min(self.periods, ahead // (pace - rate))
        return True


ThrottleState = tuple[int, int, int]
"""Until when the engine is cold, the start of the window, busy ticks in it."""


def windows(
    throttle: Throttle, before: Snapshot, now: Snapshot, start: Any, took: Any, pace: int, periods: int
) -> tuple[int, ThrottleState]:
    """How many of `periods` keep the engine as it was, and what is remembered of it after those.

    `start`, `took`: ticks of its instructions in the period between `before` and `now`; the next period
    has the same, `pace` later. An engine that was warm all the time stays so until a window in which it
    was busy for too short ends. One that was not must come back to the same state, window included.
    """
    if not len(start):
        return periods, (now.cold, now.window, now.window_busy)
    if now.cold > int(start[0]):
        moved = (now.cold - before.cold, now.window - before.window, now.window_busy - before.window_busy)
        if moved != (pace, pace, 0):
            return 0, (now.cold, now.window, now.window_busy)
        return periods, (now.cold + periods * pace, now.window + periods * pace, now.window_busy)
    return _warm(throttle, now, start + pace, took, pace, periods)


def _warm(
    throttle: Throttle, now: Snapshot, start: Any, took: Any, pace: int, periods: int
) -> tuple[int, ThrottleState]:
    """Instruction g of all periods starts at start[g % n] + g // n · pace."""
    count, total = len(start), len(start) * periods
    sums = np.concatenate(([0], np.cumsum(took)))
    origin, period_busy = int(start[0]), int(sums[-1])

    def begun(g: Any) -> Any:
        return start[g % count] + g // count * pace

    def busy(g: Any) -> Any:
        return g // count * period_busy + sums[g % count]

    def after(begin: Any) -> Any:
        """The first instruction that begins a window's length or more after a window did."""
        due = begin + throttle.window
        turn = np.maximum((due - origin) // pace, 0)
        return turn * count + np.searchsorted(start, due - turn * pace)

    def idle(held: Any, length: Any) -> Any:
        return held < throttle.rearm * length // throttle.window

    number = int(after(now.window))
    if number >= total:
        return periods, (now.cold, now.window, now.window_busy + int(busy(total)))
    cold = idle(now.window_busy + busy(number), begun(number) - now.window)
    # Of a window that begins with an instruction: with which one the next one does, and whether it is idle.
    turns = np.arange(count)
    following = after(start)
    idle_after = idle(busy(following) - busy(turns), begun(following) - start).tolist()
    steps = (following - turns).tolist()
    seen: dict[int, int] | None = {}  # by their place in a period, instructions at which a window began
    while not cold:
        phase = number % count
        if seen is not None:
            former = seen.setdefault(phase, number)
            if former != number:
                # Windows come round: from here on they begin where they began before, some periods later.
                number += (total - number) // (number - former) * (number - former)
                seen = None
        if number + steps[phase] >= total:
            return periods, (now.cold, int(begun(number)), int(busy(total) - busy(number)))
        cold = idle_after[phase]
        number += steps[phase]
    periods_kept = number // count
    if periods_kept == 0:
        return 0, (now.cold, now.window, now.window_busy)
    return _warm(throttle, now, start, took, pace, periods_kept)
