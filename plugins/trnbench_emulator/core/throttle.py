"""The tensor engine's windows over periods that are not carried out: would it cool down in one of them?"""

from __future__ import annotations

from typing import Any

import numpy as np

from trnbench_emulator.core.core import Snapshot
from trnbench_emulator.core.pace import Throttle

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
    origin, whole = int(start[0]), int(sums[-1])

    def begun(g: Any) -> Any:
        return start[g % count] + g // count * pace

    def busy(g: Any) -> Any:
        return g // count * whole + sums[g % count]

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
    one = np.arange(count)
    following = after(start)
    idle_after = idle(busy(following) - busy(one), begun(following) - start).tolist()
    steps = (following - one).tolist()
    seen: dict[int, int] | None = {}  # by their place in a period, instructions at which a window began
    while not cold:
        place = number % count
        if seen is not None:
            former = seen.setdefault(place, number)
            if former != number:
                # Windows come round: from here on they begin where they began before, some periods later.
                number += (total - number) // (number - former) * (number - former)
                seen = None
        if number + steps[place] >= total:
            return periods, (now.cold, int(begun(number)), int(busy(total) - busy(number)))
        cold = idle_after[place]
        number += steps[place]
    kept = number // count
    if kept == 0:
        return 0, (now.cold, now.window, now.window_busy)
    return _warm(throttle, now, start, took, pace, kept)
