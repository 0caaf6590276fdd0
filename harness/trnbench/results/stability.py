"""Processes of one case: its time, their interval, whether they tell one time, and what disturbed them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from trnbench.record import Record
from trnbench.results.measurement import Conditions, ProcessSamples, Stability
from trnbench.results.statistics import Interval, critical, median, relative_spread

OTHERS, QUEUED, STOLEN, PRESSED = 0.10, 0.05, 0.05, 0.10
"""Shares of the time from which a measurement is one of the machine's other work as well: of the processors,
of the time its threads could have run, of the processors, of the time. A tick of the system's accounting is
up to a twentieth of a short measurement."""


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
    return median([process.time_s for process in processes])


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

    times = [process.time_s for process in processes]
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
    distance = _apart(processes)
    if not distance:
        return Stability(verdict="stable")
    verdict, fact = distance
    return Stability(verdict=verdict, why=f"{fact}; likeliest cause: {cause.what}", advice=cause.advice)


def undecided(processes: Sequence[ProcessSamples], *, host_clock: bool = True) -> bool:
    """Whether nothing but the distance between the processes makes their time doubtful: more of them would
    narrow its interval."""
    if len(processes) < 2 or (host_clock and likeliest(processes).disturbs):
        return False
    distance = _half_of(processes)
    return distance > BEARABLE and 2 * sum(bool(_loose(process)) for process in processes) <= len(processes)


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
        loose = [process for process in processes if _loose(process)]
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
        return drift_in_words(drift)
    return spread_in_words(spread) if spread > LOOSE else ""


def drift_of(samples: Sequence[float]) -> float:
    """How much longer the later half took, over the median of all."""
    half = len(samples) // 2
    return (median(samples[half:]) - median(samples[:half])) / median(samples)


def drift_in_words(drift: float) -> str:
    return f"the later half of the samples took {abs(drift):.1%} {'longer' if drift > 0 else 'less'}"


def spread_in_words(spread: float) -> str:
    return f"half of the samples lie more than {spread:.1%} from the median"


FELL = 0.03
"""Of the clock."""


WARMING = 0.05
"""How much faster the later half of a process's samples is, where it was not warm yet."""


_END = "end other processes (ps -eo pcpu,pid,comm --sort=-pcpu | head), or wait for them: --wait-quiet 600"


class Disturbance(Record, kw_only=True):
    """`disturbs`: the times are not those of the case alone, however well they agree."""

    what: str
    advice: str
    disturbs: bool = False


def likeliest(processes: Sequence[ProcessSamples]) -> Disturbance:
    """The likeliest cause, or that none is known. A share is the median over the processes: one of three
    may have been disturbed."""
    seen = [process.conditions for process in processes if process.conditions is not None]
    cause = next(_causes(seen, processes), None)
    return cause or Disturbance(
        what="not known: nothing that was recorded explains it"
        if seen
        else "not known: nothing was recorded",
        advice=f"repeat it; --processes {2 * max(2, len(processes))} --sample-time 2 narrows the interval",
    )


def _causes(seen: Sequence[Conditions], processes: Sequence[ProcessSamples]) -> Iterator[Disturbance]:
    stolen = _typical(seen, lambda each: each.stolen)
    if stolen > STOLEN:
        yield Disturbance(
            what=f"other virtual machines took {stolen:.0%} of the processor time (steal)",
            advice="a dedicated host, or a metal instance; or at another time",
            disturbs=True,
        )
    others = _typical(seen, lambda each: each.others)
    queued = _typical(seen, _queued)
    if queued > QUEUED:
        switched = _typical(seen, lambda each: each.preempted)
        hit = [
            sum(map(bool, process.preempted)) / len(process.preempted)
            for process in processes
            if process.preempted
        ]
        yield Disturbance(
            what=f"it waited for a processor for {queued:.0%} of the time it could have run, and was "
            f"preempted {switched:,.0f} times"
            + (f", in {median(hit):.0%} of the samples" if hit and median(hit) >= 0.005 else "")
            + (f"; other processes had {others:.0%} of the processors" if others else ""),
            advice=_END,
            disturbs=True,
        )
    if others > OTHERS:
        yield Disturbance(
            what=f"other processes had {others:.0%} of the processors", advice=_END, disturbs=True
        )
    pressure = _typical(seen, lambda each: each.pressure if each.others is None else None)
    if pressure > PRESSED:
        yield Disturbance(
            what=f"something waited for a processor for {pressure:.0%} of the time (PSI)",
            advice=_END,
            disturbs=True,
        )
    yield from _clock(seen)
    yield from _warming(processes)


def _clock(seen: Sequence[Conditions]) -> Iterator[Disturbance]:
    clocks = [conditions.clock_hz for conditions in seen if len(conditions.clock_hz) == 2]
    read = [clock for both in clocks for clock in both]
    if read and max(read) - min(read) > FELL * max(read):
        low, high = min(read) / 1e9, max(read) / 1e9
        yield Disturbance(
            what=f"the clock was between {low:.2f} and {high:.2f} GHz",
            advice="let it cool down, fix the clock (cpupower frequency-set -g performance), repeat",
        )


def _warming(processes: Sequence[ProcessSamples]) -> Iterator[Disturbance]:
    falls = [_fall(process.samples) for process in processes if len(process.samples) >= 4]
    if falls and median(falls) > WARMING:
        yield Disturbance(
            what=f"it was still warming up: the later half of the samples is {median(falls):.0%} faster",
            advice="a longer warm-up, or --sample-time 5",
        )


def _fall(samples: Sequence[float]) -> float:
    half = len(samples) // 2
    before, after = median(samples[:half]), median(samples[half:])
    return (before - after) / before if before > 0.0 else 0.0


def _queued(seen: Conditions) -> float | None:
    """The share of the time in which its threads could run that they had no processor."""
    if seen.queued_s is None or seen.cpu_s is None or seen.cpu_s + seen.queued_s <= 0.0:
        return None
    return seen.queued_s / (seen.cpu_s + seen.queued_s)


def _typical(seen: Sequence[Conditions], value: Callable[[Conditions], float | None]) -> float:
    figures = [figure for figure in map(value, seen) if figure is not None]
    return median(figures) if figures else 0.0
