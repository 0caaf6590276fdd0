"""Student's t: how likely a ratio of difference to spread is by chance, and which ratio is that unlikely."""

from __future__ import annotations

import math

_TINY = 1e-300
_CLOSE = 1e-14
_MOST_STEPS = 500


def two_sided(t: float, freedom: float) -> float:
    """P(|T| ≥ |t|) with `freedom` degrees of freedom, which need not be whole; infinity is the normal.

    It is the regularised incomplete beta function I_x(ν/2, 1/2) at x = ν / (ν + t²).
    """
    if math.isinf(t):
        return 0.0
    if math.isinf(freedom):
        return math.erfc(abs(t) / math.sqrt(2.0))
    return _incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t)) if t else 1.0


def critical(p: float, freedom: float) -> float:
    """The t ≥ 0 that `two_sided` gives `p` for; by halving, since it falls without a break.

    Raises `ValueError` unless 0 < p < 1 and there is some freedom.
    """
    if not (0.0 < p < 1.0 and freedom > 0.0):
        raise ValueError(f"no quantile for {freedom} degrees of freedom at {p}")
    low, high = 0.0, 1.0
    while two_sided(high, freedom) > p:
        low, high = high, 2.0 * high
    for _ in range(200):
        middle = (low + high) / 2.0
        if not low < middle < high:
            break
        low, high = (middle, high) if two_sided(middle, freedom) > p else (low, middle)
    return high


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """I_x(a, b) by its continued fraction, on the side where that converges."""
    if not 0.0 < x < 1.0:
        return min(max(x, 0.0), 1.0)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _fraction(a, b, x) / a
    return 1.0 - front * _fraction(b, a, 1.0 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """Lentz's way with the continued fraction of the incomplete beta function (Abramowitz, Stegun 26.5.8)."""
    c, d = 1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0) or _TINY)
    found = d
    for m in range(1, _MOST_STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        step = 1.0
        for term in (even, odd):
            d = 1.0 / (1.0 + term * d or _TINY)
            c = 1.0 + term / c or _TINY
            step = c * d
            found *= step
        if abs(step - 1.0) < _CLOSE:
            break
    return found
