"""What an emulated number lets one expect of the machine, and the words that stand beside it everywhere."""

from __future__ import annotations

from trnbench.results.evidence import Evidence, Grade
from trnbench.results.measurement import Measurement, Metric
from trnbench.results.nearness import BestPublished, Nearness

NOT_RECORDED = "nearness not recorded"
"""Of an emulated number that was stored before its nearest evidence was."""


SHIPPED = "band of the shipped model"
"""Beside a band where facts, costs, points or assumptions are not those that it was measured with."""

MORE = 0.10
"""By so much an emulated number may lie above the best published of class same or kernel, unremarked."""


def nearness_of(measurement: Measurement) -> str:
    """The class of an emulated number in one word, `NOT_RECORDED` where it was stored without; "" where
    nothing was emulated."""
    if measurement.evidence.nearest is not None:
        return str(measurement.evidence.nearest.kind)
    return NOT_RECORDED if _emulated(measurement) else ""


def grey(measurement: Measurement) -> bool:
    """Whether an emulated number has no band: it is drawn grey, never bold, never first."""
    nearest = measurement.evidence.nearest
    return _emulated(measurement) and (nearest is None or nearest.band is None)


def _emulated(measurement: Measurement) -> bool:
    return measurement.evidence.grade is Grade.EMULATED and measurement.time_s is not None


def expected_time(evidence: Evidence, time_s: float | None) -> tuple[float, float] | None:
    """Least and most seconds to expect; None where there is no band."""
    if evidence.nearest is None or evidence.nearest.band is None or time_s is None:
        return None
    return evidence.nearest.band.times(time_s)


def expected(measurement: Measurement) -> tuple[float, float] | None:
    """Least and most of the primary metric to expect, in its base unit; None where there is no band.

    Of a rate no more than the clocks allow, where a document gives the engine bound.
    """
    metric = measurement.metrics.get(measurement.primary)
    times = expected_time(measurement.evidence, measurement.time_s)
    if metric is None or times is None or measurement.time_s is None:
        return None
    if metric.unit == "s":
        return times
    # A rate is a count over the time, so the longest time gives the least of it.
    least, most = (metric.value * measurement.time_s / each for each in reversed(times))
    judged = measurement.judgement
    if judged is not None and judged.metric == metric.name and judged.of_engine_bound:
        most = min(most, max(metric.value / judged.of_engine_bound, metric.value))
        least = min(least, most)
    return least, most


def above(value: float, metric: Metric, best: BestPublished | None) -> str:
    """A sentence where an emulated value lies more than 10 % above the best published of class same or
    kernel, else "". By how much is said where that point's size bounds the value; elsewhere the size is.
    """
    if best is None or best.kind not in (Nearness.SAME, Nearness.KERNEL) or best.value <= 0.0 or value <= 0.0:
        return ""
    more = (value / best.value if metric.better == "higher" else best.value / value) - 1.0
    if more <= MORE * (1.0 + 1e-9):
        return ""
    much = f"{more * 100:.0f} % above" if more < 1.0 else f"{more + 1.0:,.1f} times"
    at = best.at or ("" if best.kind is Nearness.SAME else "another size")
    if not best.reaches:
        return f"the best published is at {at} only ({best.id})"
    return f"{much} the best published{at and f' at {at}'} ({best.id})"
