"""Runs as the sections look at them: shown values, groups, and which case stands for a sweep."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from trnbench import (
    BestPublished,
    Grade,
    HistoryStep,
    Measurement,
    Metric,
    PeakChoice,
    Run,
    Source,
    Status,
    SystemRecord,
    axis_text,
    expected,
    expected_time,
    grey,
    grouped,
    least_time,
    nearness_of,
)
from trnbench_reports import numbers

SHARE, PEAK, SINCE = "share", "peak", "since"
EXPECT, PUBLISHED, LOSS, BUSY, TIME = "expect", "published", "loss", "busy", "time_s"
"""Parts of an explanation that are no metric of the case."""

_PLAIN = ":@,[]"
"""Stand for themselves in a fragment; all else that is no letter or digit is written in per cent."""


def figure_of(index: int, measurement: Measurement, metric: str = "") -> str:
    """`case=trn2-16.48xlarge::gemm[dtype%3Dbf16]@core&metric=share`: without the `#`.

    `index` is the run's on its page; `metric` a metric of the case or a part, its primary metric where empty.
    """
    return figure_by_id(index, measurement.id, metric or measurement.primary)


def figure_by_id(index: int, case_id: str, metric: str) -> str:
    """`figure_of` a case by its id."""
    # Lone surrogates cannot be encoded; the embedded data have them as the same replacement.
    encodable = case_id.encode("utf-8", "replace").decode()
    run = f"&run={index}" if index else ""
    return f"case={quote(encodable, safe=_PLAIN)}&metric={quote(metric, safe='')}{run}"


faint = grey
"""An emulated number without a band: grey, never bold."""

GOOD = (Status.OK, Status.DOCUMENT_LOW)
COLOURS = 8
"""Of generations, `--g0` … of the style sheet."""
_PREFERRED_DTYPES = ("bf16", "fp16", "fp32")


def primary(measurement: Measurement) -> Metric | None:
    return measurement.metrics.get(measurement.primary)


def point_text(measurement: Measurement, *, without: Iterable[str] = ()) -> str:
    """`m=4,096, n=4,096`, `sharded, size=1 GiB`: how a case is divided, and its axes, in a line."""
    skip, division = set(without), measurement.case.division
    axes = (f"{k}={axis_text(measurement, k)}" for k in measurement.case.point if k not in skip)
    return ", ".join((*((division.value,) if division else ()), *axes))


def systems(run: Run) -> list[SystemRecord]:
    """In the order of the page: by generation, then as the run lists them."""
    return sorted(run.systems.values(), key=lambda each: each.order)


def number(value: object) -> float | None:
    """A finite number that is stored; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def seconds(value: object) -> dict[str, float]:
    """A stored mapping of names to seconds; what is none of that is left out."""
    if not isinstance(value, Mapping):
        return {}
    pairs = ((str(name), number(amount)) for name, amount in value.items())
    return {name: amount for name, amount in pairs if amount is not None}


def rows_of(value: object, width: int) -> list[Sequence[Any]]:
    """The lists of `width` values in a stored list; what is none of that is left out."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return []
    return [row for row in value if isinstance(row, Sequence) and len(row) == width]


def step_text(step: HistoryStep) -> str:
    """ "+3.1 %, slower"; "broken"."""
    return step.words.replace(" %", f"{numbers.NBSP}%")


def offered(measurement: Measurement) -> tuple[PeakChoice, ...]:
    """Every peak that it was, or would have been, judged by."""
    judged = measurement.judgement
    return (*((judged.peaks,) if judged else ()), *measurement.reference_peaks)


def sources(run: Run) -> dict[str, Source]:
    """Every document the run's facts come from, by id."""
    return {key: source for book in run.books.values() for key, source in book.sources.items()}


def colour(run: Run, generation: str) -> int:
    """The index of the colour a generation keeps in every report: it follows from the order that its plugin
    gives it (10, 20, … 80), not from what else was run. One of another order, or of one that is taken, has
    the last colour that is free on the page."""
    return _colours(tuple((system.generation, system.order) for system in systems(run))).get(generation, 0)


@lru_cache(maxsize=64)
def _colours(generations: tuple[tuple[str, int], ...]) -> dict[str, int]:
    """`generations` by order, a pair for each system."""
    orders = dict(reversed(generations))
    chosen: dict[str, int] = {}
    for name, order in sorted(orders.items(), key=lambda pair: (pair[1], pair[0])):
        index, rest = divmod(order, 10)
        if not rest and 1 <= index <= COLOURS and index - 1 not in chosen.values():
            chosen[name] = index - 1
    for name, order in orders.items():
        free = [index for index in reversed(range(COLOURS)) if index not in chosen.values()]
        chosen.setdefault(name, free[0] if free else order % COLOURS)
    return chosen


def best(found: Iterable[Measurement]) -> Measurement | None:
    """The case that stands for a sweep: the highest share of its peak, else the best value."""
    good = [case for case in found if case.status in GOOD and primary(case) is not None]
    # A bound by a formula is not set beside what was emulated: it stands for a sweep that has nothing else.
    good = [case for case in good if case.evidence.grade is not Grade.DERIVED] or good
    judged = [case for case in good if case.judgement is not None]
    return max(judged or good, key=merit, default=None)


def merit(each: Measurement) -> float:
    """The more the better: the share of the peak, else the value of the primary metric, which there is."""
    if each.judgement is not None:
        return each.judgement.fraction
    metric = primary(each)
    assert metric is not None
    return metric.value if metric.better == "higher" else -metric.value


def rank_kind(each: Measurement) -> str:
    """`logical-core ranks` of what runs over links, "" of what has no ranks."""
    kind = each.detail.get("rank")
    return f"{numbers.clean(kind, 30)} ranks" if isinstance(kind, str) and kind else ""


def preferred_dtype(found: Iterable[Measurement]) -> str:
    """The 16-bit type where there is one: it is what the documents' tables lead with."""
    present = dict.fromkeys(case.case.dtype for case in found)
    ran = dict.fromkeys(case.case.dtype for case in found if case.status is not Status.SKIPPED) or present
    return next((dtype for dtype in _PREFERRED_DTYPES if dtype in ran), next(iter(ran), ""))


def by_kernel(measurements: Iterable[Measurement]) -> dict[str, list[Measurement]]:
    return grouped(measurements, lambda measurement: measurement.case.kernel)


def each_run(runs: Sequence[Run]) -> Iterator[tuple[int, Run, str]]:
    """Index, run, and the heading that tells several runs of one page apart ("" for a single one)."""
    for index, run in enumerate(runs):
        came = "nothing ran" if run.all_skipped else str(run.grade)
        yield index, run, f"{numbers.capital(came)}: run {run.id}" if len(runs) > 1 else ""


def each_newest(runs: Sequence[Run]) -> Iterator[tuple[int, Run, str]]:
    """`each_run`, but of two runs that a comparison holds together only the later one: the other stands
    beside it, case by case."""
    if len(runs) == 2 and comparable(*runs):
        yield 1, runs[1], ""
    else:
        yield from each_run(runs)


def comparable(before: Run, after: Run) -> bool:
    """Whether their numbers are of one kind, and some cases are in both."""
    if before.id == after.id or before.grade is not after.grade or before.policy is not after.policy:
        return False
    before_ids = {measurement.case.joint for measurement in before.measurements}
    return any(measurement.case.joint in before_ids for measurement in after.measurements)


def value_text(measurement: Measurement) -> str:
    metric = primary(measurement)
    return numbers.show(metric.value, metric.unit) if metric else "no value"


def interval_text(measurement: Measurement) -> str:
    """ "±2 %": half the interval between processes over the time, "" without one."""
    between, time_s = measurement.interval, measurement.time_s
    if between is None or not time_s:
        return ""
    return f"±{numbers.percent((between.high - between.low) / 2 / time_s)}"


def tooltip(measurement: Measurement) -> str:
    """One line with all that a number needs: value, share, evidence, scope, case."""
    judged = measurement.judgement
    share = f", {numbers.percent(judged.fraction)} of {peak_text(measurement)}" if judged else ""
    near = f", {evidence}" if (evidence := near_text(measurement)) else ""
    within = f" {interval}" if (interval := interval_text(measurement)) else ""
    # What is well needs no word.
    status = "" if measurement.status is Status.OK else f" · {measurement.status}"
    return numbers.clean(
        f"{value_text(measurement)}{within}{share} · {measurement.evidence.grade}{near}{status}"
        f" · {measurement.case.instance} · {measurement.case.fullname}",
        300,
    )


def near_text(measurement: Measurement) -> str:
    """ "nearest evidence: kernel, expect 61–72 TFLOPS; best published 71.8": "" of a measured one."""
    word = nearness_of(measurement)
    nearest = measurement.evidence.nearest
    if not word or nearest is None:
        return word
    sentence = f"nearest evidence: {word}"
    if interval := expect_text(measurement):
        sentence += f", expect {interval}"
    metric = primary(measurement)
    if nearest.best is not None and metric is not None:
        sentence += f"; best published {numbers.show(nearest.best.value, nearest.best.unit)}"
    return sentence


def expect_text(measurement: Measurement) -> str:
    """ "61–72 TFLOPS": what the band lets one expect of the primary metric, "" without a band."""
    interval, metric = expected(measurement), primary(measurement)
    if interval is None or metric is None:
        return ""
    low, high = (numbers.show(bound, metric.unit) for bound in interval)
    return ranged(low, high)


def expect_share(measurement: Measurement) -> str:
    """ "61–72 %" of the peak, "" without a band or a peak."""
    judged, time_s = measurement.judgement, measurement.time_s
    times = expected_time(measurement.evidence, time_s, least_time(measurement))
    if times is None or judged is None or not time_s:
        return ""
    low, high = (numbers.percent(judged.fraction * time_s / each) for each in reversed(times))
    return ranged(low, high)


def published(measurement: Measurement) -> BestPublished | None:
    """The best that others measured of what `measurement` is judged by, where its size may bound it."""
    nearest, judged = measurement.evidence.nearest, measurement.judgement
    best = nearest.best if nearest is not None else None
    return best if best and judged and best.reaches and best.metric == judged.metric else None


def ranged(low: str, high: str) -> str:
    """Two numbers with their units: the unit once where both have it."""
    value, space, unit = low.replace(" ", numbers.NBSP).rpartition(numbers.NBSP)
    one_unit = space and high.replace(" ", numbers.NBSP).endswith(f"{space}{unit}")
    return f"{value}–{high}" if one_unit else f"{low}–{high}"


def peak_text(measurement: Measurement) -> str:
    """ "the documented 10 PFLOPS": the figure a case was judged by."""
    judged = measurement.judgement
    if judged is None:
        return "no documented peak"
    peak = judged.peaks.chosen
    return f"the {peak.evidence} {numbers.show(peak.value, numbers.unit_of(peak.metric))}"
