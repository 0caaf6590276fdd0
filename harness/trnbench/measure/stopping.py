"""When enough samples have been taken. Every rule says why it ends a series; the reason is recorded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import msgspec

from trnbench.results.statistics import median


@runtime_checkable
class Rule(Protocol):
    """Looks at a series between two batches."""

    def stop(self, samples: Sequence[float], elapsed_s: float) -> str:
        """The reason to stop, in words; empty to go on."""


class PrecisionReached(msgspec.Struct, frozen=True, kw_only=True):
    """The interval of the median is narrow enough, and the median has settled.

    The interval is that of order statistics (ranks n/2 ± z·√n/2 of the sorted samples, David and
    Nagaraja, Order Statistics, section 7.1): no shape of the distribution is assumed. Settled means
    that the later half's median lies within the precision of the whole's: a drift is not precise.
    """

    relative: float = 0.02  # half the interval over the median
    confidence: float = 0.95
    least: int = 20

    def stop(self, samples: Sequence[float], elapsed_s: float) -> str:
        if len(samples) < self.least:
            return ""
        half = half_width(samples, self.confidence)
        middle = median(samples)
        drift = abs(median(samples[len(samples) // 2 :]) - middle)
        if middle <= 0.0 or half > self.relative * middle or drift > self.relative * middle:
            return ""
        return (
            f"precision reached: median known to ±{half / middle:.2%} "
            f"({self.confidence:.0%} confidence) after {len(samples)} samples"
        )


class TimeLimit(msgspec.Struct, frozen=True, kw_only=True):
    """So many seconds of sampling, whatever the precision."""

    seconds: float = 1.0

    def stop(self, samples: Sequence[float], elapsed_s: float) -> str:
        if not samples or elapsed_s < self.seconds:
            return ""
        return f"time limit: {self.seconds:g} s of sampling, {len(samples)} samples"


class SampleLimit(msgspec.Struct, frozen=True, kw_only=True):
    """So many samples, whatever the precision."""

    samples: int = 2000

    def stop(self, samples: Sequence[float], elapsed_s: float) -> str:
        return f"sample limit: {self.samples} samples" if len(samples) >= self.samples else ""


def half_width(samples: Sequence[float], confidence: float) -> float:
    """Half the interval in which the median lies, by order statistics; infinite for few samples."""
    from statistics import NormalDist

    count = len(samples)
    reach = NormalDist().inv_cdf(0.5 + confidence / 2.0) * math.sqrt(count) / 2.0
    low, high = math.floor(count / 2.0 - reach), math.ceil(count / 2.0 + reach)
    if low < 0 or high > count - 1:
        return math.inf
    ordered = sorted(samples)
    return (ordered[high] - ordered[low]) / 2.0


def first_reason(rules: Sequence[Rule], samples: Sequence[float], elapsed_s: float) -> str:
    """The reason of the first rule that wants to stop, "" when none does."""
    return next((why for rule in rules if (why := rule.stop(samples, elapsed_s))), "")
