"""What a kernel would gain if one cause of its time went away, by the stored waterfalls."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from trnbench import Measurement, Record, Run, grouped
from trnbench_reports import losses, view
from trnbench_reports.losses import LIMIT, Losses

PASSED = 0.95
"""Share of the promise, or of what the clocks allow, from which on nothing that counts is left to gain."""
LEAST = 0.005
"""Of the time: a smaller cause is none."""


class Opportunity(Record, kw_only=True):
    """`seconds` of the case's time go with the cause; `share` of it."""

    losses: Losses
    cause: str
    seconds: float

    @property
    def case(self) -> Measurement:
        return self.losses.case

    @property
    def share(self) -> float:
        return self.seconds / self.losses.time_s


def chosen(run: Run) -> list[Losses]:
    """The best case of each kernel on each generation, the furthest from its peak first.

    One core where a kernel has such cases: what holds it back there holds it back everywhere, and
    sharing is another cause. Links and networks have a view of their own.
    """
    judged = (
        each
        for each in run.measurements
        if each.status in view.GOOD
        and each.judgement
        and not (each.work.get("link_bytes") or each.work.get("network_bytes"))
        and losses.any_of(each)
    )
    largest = []
    for cases in grouped(judged, lambda each: (each.case.kernel, each.case.generation)).values():
        nearest = min(each.case.scope.rank for each in cases)
        best = view.best(each for each in cases if each.case.scope.rank == nearest)
        profile = losses.of(best) if best is not None else None
        if profile is not None:
            largest.append(profile)
    return sorted(largest, key=lambda each: (fraction(each), each.case.id))


def fraction(each: Losses) -> float:
    """Of the promise that is reached; 1 where nothing was promised."""
    return each.case.judgement.fraction if each.case.judgement else 1.0


def passed(each: Losses) -> bool:
    """Whether next to nothing is left to gain, against the document or against the clocks."""
    judged = each.case.judgement
    return judged is not None and max(judged.fraction, judged.of_engine_bound or 0.0) >= PASSED


def of(found: Sequence[Losses]) -> list[Opportunity]:
    """Every cause of at least half a per cent that a kernel can change, by its share of the kernel's time.

    What nobody runs for its result comes last: probes, and steps that are slow on purpose.
    """
    listed = [
        Opportunity(losses=each, cause=cause, seconds=seconds)
        for each in found
        if not passed(each)
        for cause, seconds in causes(each)
        if seconds > LEAST * each.time_s and not cause.startswith(LIMIT)
    ]
    names = {each.case.case.kernel for each in found}
    return sorted(
        listed, key=lambda each: (not useful(each.case, names), -each.share, each.case.id, each.cause)
    )


PROBES = ("engine", "dma", "copy", "link", "hbm", "transpose")
"""Families of kernels that ask what the hardware can do: no model runs them."""


def useful(case: Measurement, kernels: Collection[str]) -> bool:
    """Whether users run `case` for its result; a step to a better one of `kernels` is slow on purpose."""
    return case.case.family not in PROBES and not losses.is_step(case.case.kernel, kernels)


def causes(each: Losses) -> Iterator[tuple[str, float]]:
    """What takes time beyond the work at the peak, (name, seconds); with that work they add up to the time.

    A step back (a limit of the model above the document) is taken off what follows it.
    """
    gained = 0.0
    for name, seconds in each.terms[1:]:
        rate_s = seconds + gained
        gained = min(rate_s, 0.0)
        if rate_s > 0.0:
            yield name, rate_s
