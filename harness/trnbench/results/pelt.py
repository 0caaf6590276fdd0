"""PELT: the levels of a series, in the number that a penalty allows.

Killick, Fearnhead and Eckley, "Optimal detection of changepoints with a linear computational cost",
JASA 107 (2012). The cost of a level is the sum of squares around its mean: that of normal noise of
known size. It is written out here because the library that has it (ruptures, with SciPy) takes ninety
starts of Python to import.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

_PRUNE_EVERY = 8  # steps: dropping candidates later changes no result, and costs less


def levels(values: Sequence[float], penalty: float, *, least: int = 1) -> list[int]:
    """Where each level but the first begins, in order; none is shorter than `least` values.

    Among all ways to cut `values` it is the one with the smallest sum of squares plus `penalty` for each cut.
    """
    count = len(values)
    if count < 2 * least:
        return []
    middle = math.fsum(values) / count  # sums of squares of large numbers would lose the small differences
    moved = [each - middle for each in values]
    sums = [0.0, *accumulate(moved)]
    squares = [0.0, *accumulate(each * each for each in moved)]
    best = [-penalty] + [math.inf] * count  # of the first so many values
    cut = [0] * (count + 1)
    starts = [(0, 0.0, best[0])]  # where the last level may begin, the sum before it, its part of the cost
    doomed: set[int] = set()
    every = max(_PRUNE_EVERY, least)
    for end in range(least, count + 1):
        total = sums[end]
        costs = [part - (inside := total - before) * inside / (end - start) for start, before, part in starts]
        lowest = min(costs)
        best[end] = lowest + squares[end] + penalty
        cut[end] = starts[costs.index(lowest)][0]
        if end % every == 0:
            # A level from `end` on would do better than these, once it is long enough to be one.
            kept = [start for start in starts if start[0] not in doomed]
            doomed = {start[0] for start, cost in zip(starts, costs, strict=True) if cost > lowest + penalty}
            starts = kept
        if (start := end + 1 - least) >= least:
            starts.append((start, sums[start], best[start] - squares[start]))
    found = []
    end = count
    while end:
        end = cut[end]
        found.append(end)
    return found[-2::-1]
