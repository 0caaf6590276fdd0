"""The effect between two measured runs, when each case has only a few processes.

Three processes tell little of their spread: by chance they lie close together once in a while, and a case
that does would be called changed. Cases of the same two runs were measured on the same machine in the same
hour, so what they have in common is added to what each says itself: the variance of a case is taken as a
scaled inverse χ² around a common one, whose width is estimated from all of them (Smyth 2004, "Linear models
and empirical Bayes methods for assessing differential expression in microarray experiments", sections 4-6).
Where cases differ much in spread, the common one weighs little.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from trnbench.results.measurement import Measurement
from trnbench.results.statistics import Interval, critical, two_sided

FEWEST_CASES = 5
"""Cases from which a common spread is made."""


class Variance(NamedTuple):
    """Of one case between processes; `freedom`: how many degrees of freedom stand behind it."""

    value: float
    freedom: float


def moderated(own: Sequence[Variance]) -> list[Variance]:
    """Each variance drawn to the common one, with the freedom of both; as they are for fewer than five."""
    varied = [variance for variance in own if variance.value > 0.0]
    if len(varied) < FEWEST_CASES:
        return list(own)
    common, weight = _common(varied)
    together = sum(variance.freedom for variance in own)
    if math.isinf(weight):
        return [Variance(common, together) for _ in own]
    return [
        Variance(
            (weight * common + variance.freedom * variance.value) / (weight + variance.freedom),
            min(weight + variance.freedom, together),
        )
        for variance in own
    ]


def _common(own: Sequence[Variance]) -> tuple[float, float]:
    """The common variance and its degrees of freedom, infinite where the cases differ no more than by
    chance: Smyth's equations for s0² and d0, by the moments of ln s²."""
    centred = [
        math.log(each.value) - digamma(each.freedom / 2.0) + math.log(each.freedom / 2.0) for each in own
    ]
    mean = sum(centred) / len(centred)
    over = sum((each - mean) ** 2 for each in centred) / (len(centred) - 1)
    over -= sum(trigamma(each.freedom / 2.0) for each in own) / len(own)
    if over <= 0.0:
        return math.exp(mean), math.inf
    half = _inverse_trigamma(over)
    return math.exp(mean + digamma(half) - math.log(half)), 2.0 * half


def digamma(x: float) -> float:
    """Γ'/Γ for x > 0: by recurrence to x ≥ 8, then its asymptotic series (Abramowitz, Stegun 6.3.18)."""
    value = 0.0
    while x < 8.0:
        value -= 1.0 / x
        x += 1.0
    square = 1.0 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
    return value + math.log(x) - 0.5 / x - series


def trigamma(x: float) -> float:
    """The derivative of `digamma` (Abramowitz, Stegun 6.4.12)."""
    total = 0.0
    while x < 8.0:
        total += 1.0 / (x * x)
        x += 1.0
    square = 1.0 / (x * x)
    return total + 1.0 / x + square / 2 + square / x * (1 / 6 - square * (1 / 30 - square / 42))


def _inverse_trigamma(value: float) -> float:
    """By halving in the logarithm: it falls without a break."""
    low, high = 1e-6, 1e9
    while low < (middle := math.sqrt(low * high)) < high:
        low, high = (middle, high) if trigamma(middle) > value else (low, middle)
    return middle


FEWEST_PROCESSES = 2
"""Processes on each side: a single one says nothing of how far the next would lie."""


class Effect(NamedTuple):
    """Time after over time before, minus 1; its interval; and the chance of it without a change, by Holm."""

    value: float
    interval: Interval
    p: float


def lacking(before: Measurement, after: Measurement) -> str:
    """Why these two cannot be held against each other, "" where they can."""
    for side, case in (("the first", before), ("the second", after)):
        if not case.processes:
            return f"{side} run has no samples by process: nothing tells how far another would lie"
        if len(case.processes) < FEWEST_PROCESSES:
            return f"{side} run measured it in one process: nothing tells how far another would lie"
        if any(not process.time_s > 0.0 for process in case.processes):
            return f"{side} run has a process without a time"
    return ""


def effects(pairs: Sequence[tuple[Measurement, Measurement]], confidence: float) -> list[Effect]:
    """Of pairs that lack nothing, in their order; they count as asked together."""
    differences = [_difference(before, after) for before, after in pairs]
    variances = moderated([difference.variance for difference in differences])
    chances, intervals = [], []
    for shift, variance in zip(differences, variances, strict=True):
        error = math.sqrt(variance.value * shift.inverse)
        chances.append(
            two_sided(shift.value / error, variance.freedom) if error else float(shift.value == 0.0)
        )
        reach = error * critical(1.0 - confidence, variance.freedom) if error else 0.0
        intervals.append(of_logarithms(shift.value - reach, shift.value + reach, confidence))
    return [
        Effect(math.expm1(shift.value), interval, p)
        for shift, interval, p in zip(differences, intervals, adjusted(chances), strict=True)
    ]


class _Difference(NamedTuple):
    """Of mean logarithms; `inverse` is 1/n + 1/m, so that variance × inverse is that of the difference."""

    value: float
    variance: Variance
    inverse: float


def _difference(before: Measurement, after: Measurement) -> _Difference:
    sides = [[math.log(process.time_s) for process in case.processes] for case in (before, after)]
    means = [sum(side) / len(side) for side in sides]
    squares = sum((value - mean) ** 2 for side, mean in zip(sides, means, strict=True) for value in side)
    freedom = sum(len(side) - 1 for side in sides)
    return _Difference(
        means[1] - means[0], Variance(squares / freedom, freedom), sum(1.0 / len(side) for side in sides)
    )


def of_logarithms(low: float, high: float, confidence: float) -> Interval:
    """Of an effect, by the ends of its logarithm. A spread of hundreds of powers of ten is as good as any."""
    return Interval(low=math.expm1(low), high=math.expm1(min(high, 500.0)), confidence=confidence)


def adjusted(p: Sequence[float]) -> list[float]:
    """Holm's step-down values: below α for all that may be claimed with a chance of α for any false claim.

    The smallest is multiplied by how many there are, the next by one less, and none falls below the one
    before (Holm 1979).
    """
    order = sorted(range(len(p)), key=p.__getitem__)
    adjusted_p = [0.0] * len(p)
    least = 0.0
    for rank, index in enumerate(order):
        least = max(least, min(1.0, p[index] * (len(p) - rank)))
        adjusted_p[index] = least
    return adjusted_p
