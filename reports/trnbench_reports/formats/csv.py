"""One row per metric of each case: every number with evidence, unit, scope, direction and source."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from trnbench import Measurement, Metric, Run, expected, expected_time, nearness_of
from trnbench_reports import words

COLUMNS = (
    "run",
    "created",
    "instance",
    "generation",
    "kernel",
    "family",
    "scope",
    "point",
    "dtype",
    "status",
    "reason",
    "evidence",
    "evidence_by",
    "evidence_version",
    "nearness",
    "expected_low",
    "expected_high",
    "expected_time_low_s",
    "expected_time_high_s",
    "best_published",
    "best_published_id",
    "nearness_note",
    "metric",
    "value",
    "unit",
    "better",
    "metric_scope",
    "direction",
    "formula",
    "primary",
    "time_s",
    "clock",
    "processes",
    "interval_low_s",
    "interval_high_s",
    "stability",
    "fraction_of_peak",
    "peak",
    "peak_metric",
    "peak_scope",
    "peak_evidence",
    "peak_policy",
    "peak_source",
    "engine_bound",
    "limited_by",
    "implementation",
)


def write(runs: Sequence[Run]) -> bytes:
    """UTF-8, comma, \\n; a case without metrics (failed, skipped) has one row with empty numbers."""
    out = io.StringIO(newline="")
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(COLUMNS)
    for run in runs:
        for each in run.measurements:
            for metric in each.metrics.values() or (None,):
                rows.writerow([_safe(value) for value in _row(run, each, metric)])
    return out.getvalue().encode("utf-8")


def _row(run: Run, each: Measurement, metric: Metric | None) -> Iterator[object]:
    case, evidence = each.case, each.evidence
    yield from (run.id, run.created, case.instance, case.generation, case.kernel, case.family, case.scope)
    yield ";".join(f"{name}={value}" for name, value in case.point.items())
    yield from (case.dtype, each.status, each.reason_text or each.reason)
    yield from (evidence.grade, evidence.by, evidence.version)
    yield from _near(each, metric)
    if metric is None:
        yield from ("", "", "", "", "", "", "", "")
    else:
        yield from (metric.name, metric.value, metric.unit, metric.better, metric.scope, metric.direction)
        yield from (metric.formula, metric.name == each.primary)
    yield from (each.time_s, each.clock, len(each.processes) or "")
    yield from (each.interval.low, each.interval.high) if each.interval is not None else ("", "")
    yield each.stability.verdict if each.stability is not None else ""
    judged = each.judgement
    if judged is None or metric is None or judged.metric != metric.name:
        yield from ("", "", "", "", "", "", "", "")
    else:
        peak, bound = judged.peaks.chosen, judged.peaks.engine_bound
        yield from (judged.fraction, peak.value, peak.metric, peak.scope, peak.evidence, judged.peaks.policy)
        yield from (peak.source, bound.value if bound else "")
    yield from (each.bound, each.implementation)


def _near(each: Measurement, metric: Metric | None) -> Iterator[object]:
    """The class of the nearest evidence; what to expect and the best published only beside the metric that
    they speak of."""
    nearest = each.evidence.nearest
    yield nearness_of(each)
    primary = metric is not None and metric.name == each.primary
    yield from (expected(each) if primary else None) or ("", "")
    yield from expected_time(each.evidence, each.time_s) or ("", "")
    best = nearest.best if nearest is not None and primary else None
    yield from (best.value, best.id) if best is not None else ("", "")
    yield nearest.note if nearest is not None else ""


def _safe(value: object) -> object:
    """Words that a spreadsheet would run as a formula get a quote in front; numbers stay numbers."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    text = words.valid(str(value))
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
