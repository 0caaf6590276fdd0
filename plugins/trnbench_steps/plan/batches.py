"""Numbers of sequences that are worth a look: the most that keep a limit, and those of least cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

MOST = 4096
"""Sequences of a replica that are looked at."""


TILES = (4, 32)
"""Time jumps where one sequence more begins another tile of a kernel: multiples of these are looked at."""
HUMP = 3
"""An odd number may take longer than the two beside it: so many beyond the largest are looked at."""
RUNGS = 6
"""Powers of two below the most that are looked at for the least cost; on fewer, weights are hardly shared."""


def rungs(most: int) -> list[int]:
    """Powers of two below `most`, the largest first."""
    return [1 << power for power in reversed(range((most - 1).bit_length()))]


def largest(share: Callable[[int], float], low: int, high: int) -> int:
    """The largest number from `low`, which keeps it, to `high` whose `share` of a limit is at most 1.

    The share grows with the number, but for humps that no rung lies on, and for odd numbers. Where it grows
    evenly a few are looked at; never more than thrice as many as by halving, and two."""
    top, least, most = high, share(low), share(high)
    if most <= 1:
        return high
    halve, below = False, [rung for rung in rungs(high) if rung > low]
    while high - low > 1:
        middle = (low + high) // 2
        if below:
            middle = below.pop(0)
        elif not halve and most - least > 0 and most < float("inf"):
            middle = low + int((1 - least) / (most - least) * (high - low))
        middle = min(max(middle, low + 1), high - 1)
        now, halve = share(middle), not halve
        if now <= 1:
            low, least, below = middle, now, []
        else:
            high, most = middle, now
    beyond = range(low + 2, min(low + HUMP, top - 1) + 1)  # low + 1 was looked at
    return max((each for each in beyond if share(each) <= 1), default=low)


Cost: TypeAlias = tuple[float, float]
"""What counts first, and what counts where that is the same."""
NO_COST: Cost = (float("inf"), float("inf"))


def least_cost(cost: Callable[[int], Cost], among: Iterable[int], most: int, *, fewest: bool = False) -> int:
    """The number up to `most` of least cost: itself, a rung, of `among`, a multiple of a tile, up to a jump.

    The cost falls with the number, but for jumps; it is infinite of what keeps no limit. `fewest`: or down
    to a jump, where less does as well."""
    tries = sorted({most, *rungs(most)[:RUNGS], *among, *(most - most % tile for tile in TILES)})
    tries = [each for each in tries if 0 < each <= most]
    best = min(reversed(tries), key=cost)
    best = _towards(next((each for each in tries if each > best), best), best, cost)
    return (
        _towards(max((each for each in tries if each < best), default=best), best, cost) if fewest else best
    )


def _towards(end: int, best: int, cost: Callable[[int], Cost]) -> int:
    """From `best` as far towards `end` as it costs less, by halving."""
    while abs(end - best) > 1:
        middle = (best + end) // 2
        if cost(middle) < cost(best):
            best = middle
        else:
            end = middle
    return best
