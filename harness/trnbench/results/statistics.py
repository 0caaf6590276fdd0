"""Statistics of samples: medians and intervals, never a mean alone (samples of times are skewed)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import msgspec


class Interval(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the statistic lies with probability `confidence`."""

    low: float
    high: float
    confidence: float


def _checked(samples: Sequence[float]) -> list[float]:
    if not samples:
        raise ValueError("no samples")
    if not all(math.isfinite(each) for each in samples):
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
    return median([abs(each - middle) for each in samples])


def relative_spread(samples: Sequence[float]) -> float:
    """MAD over median: 0.02 means that half the samples lie within 2 % of the median."""
    middle = median(samples)
    return mad(samples) / abs(middle) if middle else math.inf if mad(samples) else 0.0


def bootstrap(
    samples: Sequence[float],
    *,
    statistic: Callable[[Any], Any] | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """A percentile bootstrap interval of `statistic` (default the median); same seed, same interval.

    `statistic` maps a NumPy array of shape (resamples, n) to (resamples,) along its last axis.
    Raises `ValueError` for no samples or a confidence outside 0 to 1.
    """
    ordered = _checked(samples)
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence!r}")
    import numpy as np

    values = np.asarray(ordered, dtype=float)
    drawn = values[np.random.default_rng(seed).integers(0, len(values), (resamples, len(values)))]
    found = np.median(drawn, axis=-1) if statistic is None else statistic(drawn)
    tail = (1.0 - confidence) / 2.0
    low, high = np.quantile(found, [tail, 1.0 - tail])
    return Interval(low=float(low), high=float(high), confidence=confidence)
