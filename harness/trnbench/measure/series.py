"""Cold, hot and batched: three different questions, three series of samples."""

from __future__ import annotations

from typing import Any

from trnbench.record import Record
from trnbench.results.measurement import Stability
from trnbench.results.stability import drift_in_words, drift_of, spread_in_words
from trnbench.results.statistics import bootstrap, mad, median, quantile, relative_spread

FAR = 5.0
"""Scaled MADs from the median beyond which a sample is called an outlier. It is kept all the same."""

SCALE = 1.4826  # MAD of a normal distribution to its standard deviation


class Series(Record, kw_only=True):
    """`samples` are seconds per call in the order taken, none dropped."""

    name: str  # "cold", "hot", "batched"
    samples: tuple[float, ...]
    iterations: int = 1  # calls per sample
    flush: str = "none"  # what was emptied before each sample
    stop_reason: str = ""
    device_samples: tuple[float, ...] = ()  # of the same calls, by the device's own clock
    cpu_s: tuple[float, ...] = ()  # processor time of this process per call, beside each sample
    preempted: tuple[int, ...] = ()  # how often it lost its processor meanwhile

    @property
    def outliers(self) -> tuple[int, ...]:
        """Positions of samples far from the rest."""
        if len(self.samples) < 5:
            return ()
        middle = median(self.samples)
        # A floor of 5 %: where all samples are equal to the tick, a few ticks are no outlier.
        reach = max(FAR * SCALE * mad(self.samples), 0.05 * middle)
        return tuple(i for i, each in enumerate(self.samples) if abs(each - middle) > reach)

    @property
    def first_is_far(self) -> bool:
        """A first sample far above the rest: something was still being made ready inside it."""
        return 0 in self.outliers and self.samples[0] > median(self.samples)

    @property
    def judged(self) -> tuple[float, ...]:
        """The samples the median is taken of: all, but a first one far from the rest."""
        return self.samples[1:] if self.first_is_far else self.samples

    def describe(self, seed: int = 0) -> dict[str, Any]:
        """Robust statistics, JSON-safe."""
        times = self.judged
        interval = bootstrap(times, seed=seed, resamples=_resamples(len(times)))
        summary = {
            "median_s": median(times),
            "low_s": interval.low,
            "high_s": interval.high,
            "confidence": interval.confidence,
            "mad_s": mad(times),
            "min_s": min(times),
            "p05_s": quantile(times, 0.05),
            "p95_s": quantile(times, 0.95),
            "max_s": max(times),
            "samples": len(self.samples),
            "outliers": len(self.outliers),
            "first_dropped": self.first_is_far,
            "relative_spread": relative_spread(times),
            "iterations": self.iterations,
            "flush": self.flush,
            "stop_reason": self.stop_reason,
        }
        if self.device_samples:
            summary["device_median_s"] = median(self.device_samples)
        return summary


def _resamples(count: int) -> int:
    """Fewer for long series: the interval of a thousand samples needs no two thousand draws."""
    return max(200, min(2000, 400_000 // count))


def stability(series: Series) -> Stability:
    """By the MAD and by the drift from half to half, both over the median: up to 2 % is stable, up to 10 %
    noisy, as long as a tenth of the samples at most lies far from the rest. Of one series: what caused it is
    told of a case as a whole, from what was recorded meanwhile (trnbench.results.stability).
    """
    times = series.judged
    if len(times) < 5:
        return Stability(
            verdict="unstable", why=f"only {len(times)} samples", advice="give it more time: --sample-time 5"
        )
    spread = relative_spread(times)
    drift = drift_of(times)
    share = len(series.outliers) / len(series.samples)
    worst = max(spread, abs(drift))
    verdict = "stable" if worst <= 0.02 and share <= 0.1 else "noisy" if worst <= 0.10 else "unstable"
    if verdict == "stable":
        return Stability(verdict=verdict)
    if abs(drift) > max(spread, 0.02):
        why = drift_in_words(drift)
    elif share > 0.1:
        why = f"{share:.0%} of the samples lie far from the rest"
    else:
        why = spread_in_words(spread)
    return Stability(verdict=verdict, why=why, advice="trnbench doctor tells how quiet the machine is")
