"""The emulator's clock: modelled time is a whole number of ticks, so that a run repeats bit for bit.

An instant and a figure that is stated are rounded to the nearest tick. What work takes, amount over rate,
is rounded up on a core, so that a result is never faster than its parts; flows that share links end at the
nearest tick instead, for they are cut at every change of rate, and rounding up would add up.
"""

from __future__ import annotations

from math import ceil, floor

TICKS_PER_SECOND = 10**12
"""One tick is a picosecond: a thousandth of the finest time any source states."""

TICKS_PER_US = TICKS_PER_SECOND // 10**6

HALF = 0.5 + 2.0**-10
"""Added before rounding down to the nearest; the nudge keeps an exact half tick from falling either way
with the last bit of a float."""


def ticks(seconds: float) -> int:
    """To the nearest tick; halves go up."""
    return floor(seconds * TICKS_PER_SECOND + HALF)


def ticks_up(seconds: float) -> int:
    """Of work: rounded up, but for what a float's last bits add to a whole number of ticks."""
    return ceil(round(seconds * TICKS_PER_SECOND, 3))


def seconds(ticks: int) -> float:
    return ticks / TICKS_PER_SECOND
