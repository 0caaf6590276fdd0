"""A run as rows, one for each metric of each case, for CSV, Arrow and pandas; and as a notebook shows it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from trnbench.errors import UsageError, counted, cut, visible
from trnbench.facts.units import percent, show
from trnbench.results.expectation import expected, expected_time, grey, least_time, nearness_of
from trnbench.results.measurement import Grade, Measurement, Metric, Status
from trnbench.results.run import Run

if TYPE_CHECKING:
    import pandas
    import pyarrow
    from jinja2 import Template


Cell: TypeAlias = str | float | bool | None
"""What stands in a column; None where there is nothing to say."""

COLUMNS: dict[str, type] = {
    "run": str,
    "created": str,
    "instance": str,
    "generation": str,
    "kernel": str,
    "family": str,
    "scope": str,
    "division": str,
    "point": str,
    "dtype": str,
    "status": str,
    "reason": str,
    "evidence": str,
    "evidence_by": str,
    "evidence_version": str,
    "nearness": str,
    "expected_low": float,
    "expected_high": float,
    "expected_time_low_s": float,
    "expected_time_high_s": float,
    "best_published": float,
    "best_published_id": str,
    "nearness_note": str,
    "metric": str,
    "value": float,
    "unit": str,
    "better": str,
    "metric_scope": str,
    "direction": str,
    "formula": str,
    "primary": bool,
    "time_s": float,
    "clock": str,
    "processes": int,
    "interval_low_s": float,
    "interval_high_s": float,
    "stability": str,
    "fraction_of_peak": float,
    "peak": float,
    "peak_metric": str,
    "peak_scope": str,
    "peak_evidence": str,
    "peak_policy": str,
    "peak_source": str,
    "engine_bound": float,
    "limited_by": str,
    "implementation": str,
}
"""Names in their order, and what they hold. Numbers are in SI base units."""


def metric_rows(run: Run) -> Iterator[tuple[Cell, ...]]:
    """In the order of the run. A case without metrics (failed, skipped) has one row without numbers."""
    for measurement in run.measurements:
        for metric in measurement.metrics.values() or (None,):
            yield tuple(_row(run, measurement, metric))


def _row(run: Run, each: Measurement, metric: Metric | None) -> Iterator[Cell]:
    case, evidence = each.case, each.evidence
    yield from (run.id, run.created, case.instance, case.generation, case.kernel, case.family)
    yield from (
        str(case.scope),
        str(case.division or ""),
        ";".join(f"{name}={value}" for name, value in case.point.items()),
    )
    yield from (case.dtype, str(each.status), each.reason_text or str(each.reason))
    yield from (str(evidence.grade), evidence.by, evidence.version)
    yield from _near(each, metric)
    if metric is None:
        yield from (None,) * 8
    else:
        yield from (metric.name, metric.value, metric.unit, metric.better, str(metric.scope))
        yield from (str(metric.direction), metric.formula, metric.name == each.primary)
    yield from (each.time_s, each.clock, len(each.processes) or None)
    yield from (each.interval.low, each.interval.high) if each.interval is not None else (None, None)
    yield each.stability.verdict if each.stability is not None else ""
    judged = each.judgement
    if judged is None or metric is None or judged.metric != metric.name:
        yield from (None,) * 8
    else:
        peak, bound = judged.peaks.chosen, judged.peaks.engine_bound
        yield from (judged.fraction, peak.value, peak.metric, str(peak.scope), str(peak.evidence))
        yield from (str(judged.peaks.policy), peak.source, bound.value if bound else None)
    yield from (each.bound, each.implementation)


def _near(each: Measurement, metric: Metric | None) -> Iterator[Cell]:
    """The class of the nearest evidence; what to expect and the best published only beside the metric that
    they speak of."""
    nearest = each.evidence.nearest
    yield nearness_of(each)
    primary = metric is not None and metric.name == each.primary
    yield from (expected(each) if primary else None) or (None, None)
    yield from expected_time(each.evidence, each.time_s, least_time(each)) or (None, None)
    best = nearest.best if nearest is not None and primary else None
    yield from (best.value, best.id) if best is not None else (None, None)
    yield nearest.note if nearest is not None else ""


INSTALL = "pip install 'trnbench[arrow]'"


def to_arrow(run: Run) -> pyarrow.Table:
    """The columns of `metric_row` and, as the last one, `samples`: seconds of each repetition, as measured.

    The schema's metadata has the run's id, its schema's version and the version of trnbench that made it.
    Raises `UsageError` where pyarrow is not installed.
    """
    arrow = _library()
    kinds = {str: arrow.string(), int: arrow.int64(), float: arrow.float64(), bool: arrow.bool_()}
    fields = [arrow.field(name, kinds[kind]) for name, kind in COLUMNS.items()]
    schema = arrow.schema(
        [*fields, arrow.field("samples", arrow.list_(arrow.float64()))],
        metadata={
            "trnbench.run": run.id,
            "trnbench.schema_version": str(run.schema_version),
            "trnbench.tool_version": run.tool_version,
        },
    )
    columns: list[list[Any]] = [[] for _ in COLUMNS]
    for row in metric_rows(run):
        for column, cell in zip(columns, row, strict=True):
            column.append(cell)
    samples = [
        list(measurement.samples)
        for measurement in run.measurements
        for _ in range(max(1, len(measurement.metrics)))
    ]
    arrays = [
        arrow.array(column, type=field.type)
        for column, field in zip([*columns, samples], schema, strict=True)
    ]
    return arrow.Table.from_arrays(arrays, schema=schema)


def _library() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise UsageError(
            "a run as an Arrow table needs pyarrow, which is not installed",
            cause="it is an extra, 170 MB that nothing else here needs",
            try_=INSTALL,
        ) from None
    return pyarrow


INSTALL_PANDAS = "pip install 'trnbench[pandas]'"


def to_pandas(run: Run) -> pandas.DataFrame:
    """The columns of `to_arrow`. Raises `UsageError` where pyarrow or pandas is not installed."""
    try:
        import pandas  # noqa: F401  (pyarrow would import it, and says less where it is missing)
    except ImportError:
        raise UsageError(
            "a run as a data frame needs pandas, which is not installed",
            cause="it is an extra, 70 MB that nothing else here needs",
            try_=INSTALL_PANDAS,
        ) from None
    return to_arrow(run).to_pandas()


ROWS = 20
"""Cases shown; the rest is counted."""
LONGEST = 300
"""Characters of any text of the run."""
WIDEST = 1.5
"""Share of the peak beyond which a bar is cut off."""

_BAD = (Status.FAILED, Status.SUSPECT, Status.INCONCLUSIVE)


class Row(NamedTuple):
    """One case; `bar` and `band` (from, length) in per cent of the width that there is."""

    case: str
    status: str
    alarm: bool
    result: str
    share: str
    bar: float | None
    band: tuple[float, float] | None
    evidence: str
    expect: str
    reason: str
    grey: bool


def html(run: Run) -> str:
    """At most `ROWS` cases: bad ones first, then those with a band, grey ones last; skipped ones counted."""
    told = [measurement for measurement in run.measurements if measurement.status is not Status.SKIPPED]
    chosen = sorted(told, key=lambda each: (each.status not in _BAD, grey(each)))[:ROWS]
    scale = min(max([1.0, *map(_reach, chosen)]), WIDEST)
    rows = [_html_row(each, scale) for each in chosen]
    more = len(told) - len(rows)
    return _template().render(
        run=run,
        counts=", ".join(f"{count:,} {status}" for status, count in run.counts().items() if count)
        or "no case",
        rows=rows,
        whole=round(100 / scale, 2),
        bands=any(row.band for row in rows),
        more=f"{counted(more, 'case')} more: run.measurements has them all" if more else "",
        means=_means(run),
    )


def _html_row(each: Measurement, scale: float) -> Row:
    metric, judged = each.metrics.get(each.primary), each.judgement
    interval = expected(each)
    band = _band(each)
    return Row(
        case=each.id,
        status=str(each.status),
        alarm=each.status in _BAD,
        result=show(metric.value, metric.unit) if metric else "–",
        share=percent(judged.fraction) if judged else "",
        bar=_width(judged.fraction, scale) if judged else None,
        band=(_width(band[0], scale), round(_width(band[1], scale) - _width(band[0], scale), 2))
        if band
        else None,
        evidence=", ".join(filter(None, (str(each.evidence.grade), nearness_of(each)))),
        expect=" to ".join(show(end, metric.unit) for end in interval) if interval and metric else "",
        reason=each.reason_text if each.status in _BAD else "",
        grey=grey(each),
    )


def _band(each: Measurement) -> tuple[float, float] | None:
    """Least and most of the peak to expect: of an emulated number by its nearest evidence, of a measured one
    by the interval between its processes."""
    metric, judged, interval = each.metrics.get(each.primary), each.judgement, expected(each)
    if metric is None or judged is None or not metric.value:
        return None
    if interval is not None:
        return interval[0] / metric.value * judged.fraction, interval[1] / metric.value * judged.fraction
    if each.interval is not None and each.time_s:
        shares = sorted(
            judged.fraction * each.time_s / end for end in (each.interval.low, each.interval.high) if end
        )
        return (shares[0], shares[-1]) if shares else None
    return None


def _reach(each: Measurement) -> float:
    """How far to the right its bar and band go, as a share of the peak."""
    band = _band(each)
    return max(each.judgement.fraction if each.judgement else 0.0, band[1] if band else 0.0)


def _width(share: float, scale: float) -> float:
    return round(min(max(share / scale, 0.0), 1.0) * 100, 2)


def _means(run: Run) -> str:
    if run.grade is Grade.EMULATED:
        return "Emulated: computed by a model, not run on the device."
    return "Measured: on the device that each case names."


@lru_cache(maxsize=1)
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    made = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_seen
    )
    return made.from_string(Path(__file__).with_name("notebook.html.j2").read_text(encoding="utf-8"))


def _seen(value: Any) -> Any:
    return (
        cut(visible(value), LONGEST) if isinstance(value, str) and not hasattr(value, "__html__") else value
    )
