"""Several processes of one case: the time, the interval between them, and whether they tell one time."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trnbench.results.disturbance import likeliest
from trnbench.results.process_samples import ProcessSamples
from trnbench.results.stability import Stability
from trnbench.results.statistics import Interval, median, relative_spread
from trnbench.results.student import critical

CONFIDENCE = 0.95

STEADY, BEARABLE = 0.05, 0.10
"""Half the interval between processes over the time: up to here stable, and noisy; beyond, a state of not
knowing. A number that is called good is then at most a tenth off."""

ENOUGH = 5
"""Samples of one process that tell how far they spread."""

LOOSE = 0.10
"""How far half the samples of a process may lie from its median, and its halves from each other."""


def time_of(processes: Sequence[ProcessSamples]) -> float:
    """The median over the medians of the processes."""
    return median([each.time_s for each in processes])


def interval_of(processes: Sequence[ProcessSamples]) -> Interval | None:
    """Where the time lies with 95 %: Student's t over the medians of the processes, stretched to hold their
    median. None of a single process.

    Samples of one process share its memory layout, its processor and its moment: they are not independent of
    one another, processes are. A bootstrap of three values reaches from the least to the largest and holds
    the median in three cases of four only; t allows for few values.
    """
    if len(processes) < 2:
        return None
    from statistics import fmean, stdev  # brings random and decimal along

    times = [each.time_s for each in processes]
    half = critical(1.0 - CONFIDENCE, len(times) - 1) * stdev(times) / math.sqrt(len(times))
    middle, mean = median(times), fmean(times)
    return Interval(
        low=max(0.0, min(mean - half, middle)), high=max(mean + half, middle), confidence=CONFIDENCE
    )


def stability_of(processes: Sequence[ProcessSamples], *, host_clock: bool = True) -> Stability:
    """Whether the processes tell one time. "unstable" is a state of not knowing; its likeliest cause is named
    from what was recorded. A device's own clock does not see what the host was busy with.
    """
    cause = likeliest(processes)
    if host_clock and cause.disturbs:
        return Stability(verdict="unstable", why=cause.what, advice=cause.advice)
    what = _apart(processes)
    if not what:
        return Stability(verdict="stable")
    verdict, fact = what
    return Stability(verdict=verdict, why=f"{fact}; likeliest cause: {cause.what}", advice=cause.advice)


def undecided(processes: Sequence[ProcessSamples], *, host_clock: bool = True) -> bool:
    """Whether nothing but the distance between the processes makes their time doubtful: more of them would
    narrow its interval."""
    if len(processes) < 2 or (host_clock and likeliest(processes).disturbs):
        return False
    found = _half_of(processes)
    return found > BEARABLE and 2 * sum(bool(_loose(each)) for each in processes) <= len(processes)


def _half_of(processes: Sequence[ProcessSamples]) -> float:
    """The wider half of the interval between two processes or more, over the time."""
    interval, time_s = interval_of(processes), time_of(processes)
    assert interval is not None
    return max(interval.high - time_s, time_s - interval.low) / time_s


def _apart(processes: Sequence[ProcessSamples]) -> tuple[str, str] | None:
    """The verdict and the fact, where the samples do not tell one time."""
    if len(processes) > 1:
        half = _half_of(processes)
        fact = f"{len(processes)} processes agree to ±{half:.1%} only"
        if half > BEARABLE:
            return "unstable", fact
        loose = [each for each in processes if _loose(each)]
        if 2 * len(loose) > len(processes):
            return "unstable", _loose(loose[0])
        return ("noisy", fact) if half > STEADY else None
    (only,) = processes
    if len(only.samples) < ENOUGH:
        return "unstable", f"one process and only {len(only.samples)} samples"
    fact = _loose(only)
    return ("unstable", fact) if fact else None


def _loose(process: ProcessSamples) -> str:
    """How the samples of one process disagree among themselves; "" where they do not, or are too few."""
    samples = process.samples
    if len(samples) < ENOUGH:
        return ""
    drift = drift_of(samples)
    spread = relative_spread(samples)
    if abs(drift) > max(LOOSE, spread):
        return f"the later half of the samples took {abs(drift):.1%} {'longer' if drift > 0 else 'less'}"
    return f"half of the samples lie more than {spread:.1%} from the median" if spread > LOOSE else ""


def drift_of(samples: Sequence[float]) -> float:
    """How much longer the later half took, over the median of all."""
    half = len(samples) // 2
    return (median(samples[half:]) - median(samples[:half])) / median(samples)
