"""Where a series of results moved to another level, and by how much.

Measured values: their logarithms by PELT, with the penalty 4·ln(n)·σ² for each step, n at least 30. σ
is the noise from run to run, by the median of neighbours' differences; a value further than 3σ from the
median of the five around it counts as that far, so that one bad run is no step. Emulated values are
exact: every change is one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from itertools import accumulate
from statistics import median

import msgspec

LEAST = 3
"""Runs of a measured series on either side of a step: fewer may be chance."""

SMALLEST = 1e-3
"""Noise that is taken at least, relative: clocks and rounding are no better, and no step is below it."""

_EXACT = 1e-9  # emulated values that differ by less are the same, printed by another Python
_NORMAL = 0.6745 * math.sqrt(2.0)  # the median of |a − b| of two normal values, in σ
_PENALTY = 4.0
_SHORT = 30  # runs: of fewer, σ itself is uncertain
_FAR = 3.0  # σ: two bad runs in a row stay below the penalty too
_AROUND = 5  # values, the one itself in their middle but at the ends


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From value `at` on the level is another one: `before` and `after` are medians of the two levels."""

    at: int
    before: float
    after: float

    @property
    def change(self) -> float:
        """0.05: 5 % above the level before."""
        return self.after / self.before - 1.0 if self.before else math.inf


def steps(values: Sequence[float], *, exact: bool) -> tuple[Step, ...]:
    """The steps of a series of positive values, in order. `exact`: values without noise."""
    if not all(math.isfinite(each) and each > 0.0 for each in values):
        raise ValueError("a series of results has positive numbers alone")
    cuts = _changes(values) if exact else _measured([math.log(each) for each in values])
    ends = [0, *cuts, len(values)]
    middles = [median(values[start:end]) for start, end in itertools.pairwise(ends) if end > start]
    return tuple(
        Step(at=cut, before=before, after=after)
        for cut, before, after in zip(cuts, middles, middles[1:], strict=False)
    )


def _changes(values: Sequence[float]) -> list[int]:
    return [at for at in range(1, len(values)) if abs(values[at] / values[at - 1] - 1.0) > _EXACT]


def _measured(values: Sequence[float]) -> list[int]:
    if len(values) < 2 * LEAST:
        return []
    apart = [abs(b - a) for a, b in itertools.pairwise(values)]
    noise = max(median(apart) / _NORMAL, SMALLEST)
    return levels(
        _tamed(values, _FAR * noise), _PENALTY * math.log(max(len(values), _SHORT)) * noise**2, least=LEAST
    )


def _tamed(values: Sequence[float], far: float) -> list[float]:
    tamed = []
    for at, value in enumerate(values):
        start = min(max(0, at - _AROUND // 2), len(values) - _AROUND)
        middle = median(values[start : start + _AROUND])
        tamed.append(min(max(value, middle - far), middle + far))
    return tamed


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
