"""What an emulated number lets one expect of the machine, and the words that stand beside it everywhere."""

from __future__ import annotations

import math

from trnbench.facts.fact import PeakChoice
from trnbench.results.measurement import (
    BestPublished,
    Evidence,
    Grade,
    Measurement,
    Metric,
    Nearness,
    stored_bound,
)

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


def expected_time(
    evidence: Evidence, time_s: float | None, least_s: float = 0.0
) -> tuple[float, float] | None:
    """Least and most seconds to expect, no less than `least_s`; None where there is no band."""
    if evidence.nearest is None or evidence.nearest.band is None or time_s is None:
        return None
    return evidence.nearest.band.times(time_s, least_s)


def expected_seconds(measurement: Measurement) -> tuple[float, float] | None:
    """Of a case, no less than `least_time`."""
    return expected_time(measurement.evidence, measurement.time_s, least_time(measurement))


def least_time(measurement: Measurement) -> float:
    """Seconds under which clocks and rates allow no time: at the engine bound, or at the best documented
    figure where no clock bounds it; or at the bound of all that a model counted. 0 where no document has one.
    """
    judged, time_s = measurement.judgement, measurement.time_s
    if time_s is None:
        return 0.0
    bound = stored_bound(measurement)
    if judged is None:
        return bound
    metric = measurement.metrics.get(judged.metric)
    lower = metric is not None and metric.better == "lower"
    share = least_share(judged.fraction, judged.of_engine_bound, judged.peaks, lower=lower)
    return max(time_s * share, bound)


def least_share(
    fraction: float, of_engine_bound: float | None, peaks: PeakChoice, *, lower: bool = False
) -> float:
    """Of a time: what is left of it at the engine bound, or at the best documented figure where no clock
    bounds it. `fraction` is of the peak chosen; `lower`: the less the better."""
    share = of_engine_bound
    if share is None and peaks.chosen.evidence != "measured":
        chosen = peaks.chosen.value
        figures = (chosen, *(peak.value for peak in peaks.alternatives))
        share = fraction * (min(figures) / chosen if lower else chosen / max(figures))
    return min(share or 0.0, 1.0)


def expected(measurement: Measurement) -> tuple[float, float] | None:
    """Least and most of the primary metric to expect, in its base unit; None where there is no band.

    No more than `least_time` allows.
    """
    metric = measurement.metrics.get(measurement.primary)
    times = expected_seconds(measurement)
    if metric is None or times is None or measurement.time_s is None:
        return None
    if metric.unit == "s":
        return times
    # A rate is a count over the time, so the longest time gives the least of it.
    least, most = (metric.value * measurement.time_s / time_s for time_s in reversed(times))
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


NOTHING = "–"
"""Where there is no number."""
_TWICE = math.log(2)


def size_text(e: float) -> str:
    """The size of an error, which way it may be: `15 %` is a factor of 1.15 either way."""
    return _percent(math.expm1(abs(e)))


def signed_text(e: float) -> str:
    """The model's time beside the published: `+302 %`, `−35 %` (a true minus), `÷2.7` below a half.

    What rounds to nothing has no sign.
    """
    if e <= -_TWICE:
        return f"÷{_factor(-e)}"
    text = _percent(abs(math.expm1(e)))
    return text if text == "0.0 %" else ("+" if e > 0 else "−") + text


def factor_text(e: float) -> str:
    """`×6.4`: how many times the published time the model's is."""
    return f"×{_factor(e)}"


def _percent(fraction: float) -> str:
    """Two significant digits below 10 %, none behind the point above."""
    percent = fraction * 100
    return f"{percent:,.0f} %" if percent >= 9.95 else f"{percent:.1f} %"


def _factor(e: float) -> str:
    factor = math.exp(e)
    return f"{factor:,.0f}" if factor >= 9.95 else f"{factor:.1f}" if factor >= 1.095 else f"{factor:.2f}"
