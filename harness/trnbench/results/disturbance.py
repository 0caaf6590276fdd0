"""What disturbed the samples of a case most likely, from what was recorded beside them and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from trnbench.results.process_samples import Conditions, ProcessSamples
from trnbench.results.statistics import median

OTHERS, QUEUED, STOLEN, PRESSED = 0.10, 0.05, 0.05, 0.10
"""Shares of the time from which a measurement is one of the machine's other work as well: of the processors,
of the time its threads could have run, of the processors, of the time. A tick of the system's accounting is
up to a twentieth of a short measurement."""

FELL = 0.03
"""Of the clock."""

WARMING = 0.05
"""How much faster the later half of a process's samples is, where it was not warm yet."""

_END = "end other processes (ps -eo pcpu,pid,comm --sort=-pcpu | head), or wait for them: --wait-quiet 600"


class Disturbance(msgspec.Struct, frozen=True, kw_only=True):
    """`disturbs`: the times are not those of the case alone, however well they agree."""

    what: str
    advice: str
    disturbs: bool = False


def likeliest(processes: Sequence[ProcessSamples]) -> Disturbance:
    """The likeliest cause, or that none is known. A share is the median over the processes: one of three
    may have been disturbed."""
    seen = [each.conditions for each in processes if each.conditions is not None]
    found = next(_causes(seen, processes), None)
    return found or Disturbance(
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
        hit = [sum(map(bool, each.preempted)) / len(each.preempted) for each in processes if each.preempted]
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
    clocks = [each.clock_hz for each in seen if len(each.clock_hz) == 2]
    read = [clock for both in clocks for clock in both]
    if read and max(read) - min(read) > FELL * max(read):
        low, high = min(read) / 1e9, max(read) / 1e9
        yield Disturbance(
            what=f"the clock was between {low:.2f} and {high:.2f} GHz",
            advice="let it cool down, fix the clock (cpupower frequency-set -g performance), repeat",
        )


def _warming(processes: Sequence[ProcessSamples]) -> Iterator[Disturbance]:
    falls = [_fall(each.samples) for each in processes if len(each.samples) >= 4]
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
    told = [each for each in map(value, seen) if each is not None]
    return median(told) if told else 0.0
