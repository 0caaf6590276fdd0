"""A run as rows, one for each metric of each case, for CSV, Arrow and pandas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from trnbench.errors import UsageError
from trnbench.results.expectation import expected, expected_seconds, nearness_of
from trnbench.results.measurement import Measurement, Metric
from trnbench.results.run import Run

if TYPE_CHECKING:
    import pandas
    import pyarrow

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
    yield from expected_seconds(each) or (None, None)
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
