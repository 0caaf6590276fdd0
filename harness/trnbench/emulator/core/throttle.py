"""The tensor engine's windows over periods that are not carried out: would it cool down in one of them?"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np

from trnbench.emulator.core.core import Snapshot
from trnbench.emulator.core.pace import Throttle

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
    count = len(start)
    sums = np.concatenate(([0], np.cumsum(took))).tolist()
    begins = start.tolist()
    origin = begins[0]

    def busy(g: int) -> int:
        return int(g // count * sums[-1] + sums[g % count])

    # `held`: busy ticks of the window before instruction `counted`.
    window, held, counted = now.window, now.window_busy, 0
    total = count * periods
    seen: dict[int, int] | None = {}  # by their place in a period, instructions at which a window began
    while True:
        # The first instruction that begins a window's length or more after the window did.
        due = window + throttle.window
        turn = max((due - origin) // pace, 0)
        number = turn * count + bisect_left(begins, due - turn * pace)
        if number >= total:
            return periods, (now.cold, window, held + busy(total) - busy(counted))
        begun = begins[number % count] + number // count * pace
        held += busy(number) - busy(counted)
        if held < throttle.rearm * (begun - window) // throttle.window:
            kept = number // count
            if kept == 0:
                return 0, (now.cold, now.window, now.window_busy)
            return _warm(throttle, now, start, took, pace, kept)
        window, held, counted = begun, 0, number
        if seen is not None:
            former = seen.setdefault(number % count, number)
            if former != number:
                # Windows come round: from here on they begin where they began before, some periods later.
                turns = (total - number) // (number - former)
                counted += turns * (number - former)
                window += turns * ((number - former) // count) * pace
                seen = None
