"""The largest batch that keeps a limit."""

from __future__ import annotations

from collections.abc import Callable

MOST = 4096
"""Sequences of a replica that are looked at."""


def largest(share: Callable[[int], float], low: int, high: int) -> int:
    """The largest number from `low`, which keeps it, to `high` whose `share` of a limit is at most 1.

    The share grows with the number. Where it does so evenly a few are looked at; never more than twice as
    many as by halving."""
    least, most = share(low), share(high)
    if most <= 1:
        return high
    halve = False
    while high - low > 1:
        middle = (low + high) // 2
        if not halve and most - least > 0 and most < float("inf"):
            middle = low + int((1 - least) / (most - least) * (high - low))
        middle = min(max(middle, low + 1), high - 1)
        now, halve = share(middle), not halve
        if now <= 1:
            low, least = middle, now
        else:
            high, most = middle, now
    return low
