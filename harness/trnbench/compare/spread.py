"""How far processes of one case lie apart, when each case has only a few of them.

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

FEWEST = 5
"""Cases from which a common spread is made."""


class Variance(NamedTuple):
    """Of one case between processes; `freedom`: how many degrees of freedom stand behind it."""

    value: float
    freedom: float


def moderated(own: Sequence[Variance]) -> list[Variance]:
    """Each variance drawn to the common one, with the freedom of both; as they are for fewer than five."""
    varied = [each for each in own if each.value > 0.0]
    if len(varied) < FEWEST:
        return list(own)
    common, weight = _common(varied)
    together = sum(each.freedom for each in own)
    if math.isinf(weight):
        return [Variance(common, together) for _ in own]
    return [
        Variance(
            (weight * common + each.freedom * each.value) / (weight + each.freedom),
            min(weight + each.freedom, together),
        )
        for each in own
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
    found = 0.0
    while x < 8.0:
        found += 1.0 / (x * x)
        x += 1.0
    square = 1.0 / (x * x)
    return found + 1.0 / x + square / 2 + square / x * (1 / 6 - square * (1 / 30 - square / 42))


def _inverse_trigamma(value: float) -> float:
    """By halving in the logarithm: it falls without a break."""
    low, high = 1e-6, 1e9
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if trigamma(middle) > value else (low, middle)
    return math.sqrt(low * high)
