"""Statistics of samples: medians, intervals and Student's t; never a mean alone, since times are skewed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from trnbench.record import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Interval(Record, kw_only=True, forbid_unknown_fields=True):
    """Where the statistic lies with probability `confidence`."""

    low: float
    high: float
    confidence: float


def _checked(samples: Sequence[float]) -> list[float]:
    if not samples:
        raise ValueError("no samples")
    if not all(math.isfinite(sample) for sample in samples):
        raise ValueError("samples must be finite numbers")
    return sorted(samples)


def quantile(samples: Sequence[float], q: float) -> float:
    """The q-quantile with linear interpolation between neighbours (Hyndman and Fan's type 7).

    Raises `ValueError` for no samples, samples that are not finite, or q outside 0 to 1.
    """
    ordered = _checked(samples)
    if not 0.0 <= q <= 1.0:
        raise ValueError(f"a quantile lies between 0 and 1, not at {q!r}")
    position = q * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    low, high = ordered[below], ordered[above]
    # The clamp keeps rounding from stepping outside the two neighbours.
    return min(max(low + (high - low) * (position - below), low), high)


def median(samples: Sequence[float]) -> float:
    """The middle sample. Raises `ValueError` like `quantile`."""
    return quantile(samples, 0.5)


def mad(samples: Sequence[float]) -> float:
    """Median absolute deviation from the median, not scaled to a normal distribution."""
    middle = median(samples)
    return median([abs(sample - middle) for sample in samples])


def relative_spread(samples: Sequence[float]) -> float:
    """MAD over median: 0.02 means that half the samples lie within 2 % of the median."""
    middle = median(samples)
    return mad(samples) / abs(middle) if middle else math.inf if mad(samples) else 0.0


def median_interval(samples: Sequence[float], confidence: float) -> Interval:
    """Where the median lies, by ranks alone: no shape is assumed (David and Nagaraja, Order Statistics, 7.1).
    It reaches from minus to plus infinity where there are too few samples for it.

    Raises `ValueError` like `quantile`.
    """
    ordered = _checked(samples)
    outside, beyond, left_out = (1.0 - confidence) / 2.0, 0.5 ** len(ordered), 0
    while beyond <= outside:
        left_out += 1
        beyond += math.comb(len(ordered), left_out) / 2.0 ** len(ordered)
    if not left_out:
        return Interval(low=-math.inf, high=math.inf, confidence=confidence)
    return Interval(low=ordered[left_out - 1], high=ordered[-left_out], confidence=confidence)


def bootstrap(
    samples: Sequence[float],
    *,
    q: float = 0.5,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """A percentile bootstrap interval of the q-quantile, the median unless said; same seed, same interval.

    Raises `ValueError` for no samples, or q or a confidence outside 0 to 1.
    """
    ordered = _checked(samples)
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence!r}")
    if not 0.0 <= q <= 1.0:
        raise ValueError(f"a quantile lies between 0 and 1, not at {q!r}")
    import numpy as np

    values, drawn = np.asarray(ordered, dtype=float), _drawn(len(ordered), resamples, seed)
    below, share = divmod(q * (len(values) - 1), 1.0)
    low = values[drawn[:, int(below)]]
    high = values[drawn[:, min(int(below) + 1, len(values) - 1)]]
    # As NumPy interpolates, to the last bit.
    quantiles = low + (high - low) * share if share < 0.5 else high - (high - low) * (1.0 - share)
    tail = (1.0 - confidence) / 2.0
    least, most = np.quantile(quantiles, [tail, 1.0 - tail])
    return Interval(low=float(least), high=float(most), confidence=confidence)


@lru_cache(maxsize=2)
def _drawn(count: int, resamples: int, seed: int) -> NDArray[np.int64]:
    """Of each resample the ranks of what was drawn, in order: shape (resamples, count)."""
    import numpy as np

    return np.sort(np.random.default_rng(seed).integers(0, count, (resamples, count)), axis=-1)


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
    while low < (middle := (low + high) / 2.0) < high:
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
