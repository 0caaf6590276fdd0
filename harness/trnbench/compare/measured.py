"""Measured cases: whether a difference is more than processes differ anyway.

Each process of a case tells one median. The effect is the ratio of the geometric means of these medians,
tested by Student's t on their logarithms, with variances moderated over the cases compared (`spread`) and
Holm's correction over them. Why no resampling: of three processes a side, sets of medians of equal speed are
apart altogether in 2 of 20 cases, so that a bootstrap or rank test over them can never tell less than 10 %;
that is a fact of three values, whatever is drawn from them. docs/comparing.md has the figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from trnbench.compare.spread import Variance, moderated
from trnbench.results.measurement import Measurement
from trnbench.results.statistics import Interval
from trnbench.results.student import critical, two_sided

FEWEST = 2
"""Processes on each side: a single one says nothing of how far the next would lie."""


class Effect(NamedTuple):
    """Time after over time before, minus 1; its interval; and the chance of it without a change, by Holm."""

    value: float
    interval: Interval
    p: float


def lacking(before: Measurement, after: Measurement) -> str:
    """Why these two cannot be held against each other, "" where they can."""
    for which, each in (("the first", before), ("the second", after)):
        if not each.processes:
            return f"{which} run has no samples by process: nothing tells how far another would lie"
        if len(each.processes) < FEWEST:
            return f"{which} run measured it in one process: nothing tells how far another would lie"
        if any(not process.time_s > 0.0 for process in each.processes):
            return f"{which} run has a process without a time"
    return ""


def effects(pairs: Sequence[tuple[Measurement, Measurement]], confidence: float) -> list[Effect]:
    """Of pairs that lack nothing, in their order; they count as asked together."""
    differences = [_difference(before, after) for before, after in pairs]
    variances = moderated([each.variance for each in differences])
    chances, shifts = [], []
    for each, variance in zip(differences, variances, strict=True):
        error = math.sqrt(variance.value * each.inverse)
        chances.append(two_sided(each.value / error, variance.freedom) if error else float(each.value == 0.0))
        reach = error * critical(1.0 - confidence, variance.freedom) if error else 0.0
        shifts.append((each.value, reach))
    return [
        Effect(
            value=math.expm1(value),
            interval=Interval(
                low=math.expm1(value - reach), high=_expm1(value + reach), confidence=confidence
            ),
            p=p,
        )
        for (value, reach), p in zip(shifts, adjusted(chances), strict=True)
    ]


class _Difference(NamedTuple):
    """Of mean logarithms; `inverse` is 1/n + 1/m, so that variance × inverse is that of the difference."""

    value: float
    variance: Variance
    inverse: float


def _difference(before: Measurement, after: Measurement) -> _Difference:
    sides = [[math.log(process.time_s) for process in each.processes] for each in (before, after)]
    means = [sum(side) / len(side) for side in sides]
    squares = sum((value - mean) ** 2 for side, mean in zip(sides, means, strict=True) for value in side)
    freedom = sum(len(side) - 1 for side in sides)
    return _Difference(
        means[1] - means[0], Variance(squares / freedom, freedom), sum(1.0 / len(side) for side in sides)
    )


def _expm1(value: float) -> float:
    """A spread of hundreds of powers of ten is as good as any."""
    return math.expm1(min(value, 500.0))


def adjusted(p: Sequence[float]) -> list[float]:
    """Holm's step-down values: below α for all that may be claimed with a chance of α for any false claim.

    The smallest is multiplied by how many there are, the next by one less, and none falls below the one
    before (Holm 1979).
    """
    order = sorted(range(len(p)), key=p.__getitem__)
    found = [0.0] * len(p)
    least = 0.0
    for rank, index in enumerate(order):
        least = max(least, min(1.0, p[index] * (len(p) - rank)))
        found[index] = least
    return found
