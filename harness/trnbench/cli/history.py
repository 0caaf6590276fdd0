"""`trnbench history`: cases over the stored runs, and where their level changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trnbench.compare.steps import explained
from trnbench.errors import UsageError, counted
from trnbench.facts.units import show
from trnbench.results.history import CaseHistory, HistoryPoint, HistoryStep, sparkline
from trnbench.run.output_file import check_writable
from trnbench.run.render import find_page, render_page
from trnbench.store.history import histories
from trnbench.store.store import Store
from trnbench.terminal.cell import VITAL, WANTED, Column
from trnbench.terminal.context import Session
from trnbench.terminal.output import emit, emit_json, say
from trnbench.terminal.target import NO_PAGE, STDOUT, deliver

COMMIT = 10  # characters that people compare
SERIES = (
    "case",
    Column("evidence", keep=VITAL),
    Column("runs", align="right"),
    Column("trend", keep=WANTED),
    Column("shown", "latest", "right", keep=VITAL),
    Column("step", "last step", "right", keep=VITAL),
    Column("first", "first run after it", keep=WANTED),
)
STEPS = (
    "case",
    Column("first", "first run", keep=WANTED),
    "commit",
    Column("verdict", keep=VITAL),
    Column("change", align="right", keep=VITAL),
    Column("shown_before", "before", "right"),
    Column("shown_after", "after", "right"),
    Column("why", keep=WANTED),
)
POINTS = (
    *("case", "evidence", "backend", "machine", "run", "created", "commit", "dirty", "tool_version"),
    *("status", "metric", "value", "unit", "time_s", "step"),
)
ONE = (
    "run",
    "created",
    Column("commit", show=lambda told: str(told)[:COMMIT]),
    "status",
    Column("shown", "result", "right", keep=WANTED),
    Column("step", align="right", keep=WANTED),
)


def history(
    shared: Session,
    /,
    *,
    cases: tuple[str, ...],
    tags: tuple[str, ...],
    last: int,
    stepped: bool,
    output: Path | None,
    force: bool,
    format: str,
) -> None:
    """Show cases over the stored runs: values, commits, and the first run after each step."""
    if output is not None:
        _check_page(output, force=force)
    with Store(shared.store_path) as store:
        series = explained(store, histories(store, cases, tags=tags, last=last))
    every = len(series)
    if stepped:
        series = tuple(each for each in series if each.steps)
    if output is not None:
        deliver(output, render_page(series, find_page(shared.registry, "history")))
    elif format == "json":
        emit_json([_document(each) for each in series])
    elif format == "csv":
        emit([row for each in series for row in _points(each)], POINTS, format)
    elif series:
        _show(series, format)
    short = {point.run: point.cut_short for each in series for point in each.points if point.cut_short}
    for run, how in short.items():
        say(f"warning: run {run} was cut short: {how}")
    if not series:
        say(shared.typed(_empty(every, tags)))


def _empty(without_step: int, tags: Sequence[str]) -> str:
    """Why nothing is shown, and what to type next."""
    if without_step:
        lines = counted(without_step, "line")
        return (
            f"no step in {lines}: no level changed from one run to a later one; without --steps all are shown"
        )
    bearing = f" with the tag {' and '.join(tags)}" if tags else ""
    return f"no run{bearing} has a value of these cases; trnbench runs list  shows runs and tags"


def _check_page(output: Path, *, force: bool) -> None:
    """Raises `UsageError` for a name that is no page's, and where it cannot be written."""
    suffix = output.suffix.lower()
    if suffix in NO_PAGE:
        printed = suffix in (".json", ".csv", ".md")
        raise UsageError(
            f"{output} does not look like an HTML page",
            cause=f"-o writes one HTML file, whatever its name, and this one ends in {suffix}",
            try_=f"trnbench history --format {suffix[1:]} > {output}"
            if printed
            else f"-o {output.with_suffix('.html')}",
        )
    if output != STDOUT:
        check_writable(output, force=force)


def _show(found: Sequence[CaseHistory], format: str) -> None:
    """The series, then their steps; of one series its runs as well."""
    told = [name for name in ("backend", "machine") if len({getattr(each, name) for each in found}) > 1]
    emit([_series_row(each) for each in found], (*SERIES[:2], *told, *SERIES[2:]), format)
    if len(found) == 1:
        emit(_points(found[0]), ONE, format, title=_titled(found[0]))
    steps = [_step_row(each, step) for each in found for step in each.steps]
    if steps:
        emit(steps, STEPS, format, title="steps")


def _titled(found: CaseHistory) -> str:
    return ", ".join(filter(None, (str(found.evidence), found.backend, found.metric, found.machine)))


def _series_row(found: CaseHistory) -> dict[str, Any]:
    last = found.steps[-1] if found.steps else None
    return {
        "case": found.case,
        "evidence": str(found.evidence),
        "backend": found.backend,
        "machine": found.machine or None,
        "runs": len(found.points),
        "trend": sparkline([point.value if point.counts else None for point in found.points]),
        "shown": _shown(found.latest, found.unit),
        "step": last.words if last else None,
        "first": last.first.run if last else None,
    }


def _step_row(found: CaseHistory, step: HistoryStep) -> dict[str, Any]:
    return {
        "case": found.case,
        "first": step.first.run,
        "commit": " → ".join(_commit(each) or "?" for each in (step.last, step.first))
        if step.first.commit or step.last.commit
        else None,
        "verdict": str(step.verdict),
        "change": step.signed or None,
        "shown_before": _shown(step.before, found.unit),
        "shown_after": _shown(step.after, found.unit),
        "why": "; ".join(step.why) or None,
    }


def _points(found: CaseHistory) -> list[dict[str, Any]]:
    """A row for each run, with the step that begins there."""
    steps = {step.first.run: step for step in found.steps}
    return [
        {
            "case": found.case,
            "evidence": str(found.evidence),
            "backend": found.backend,
            "machine": found.machine,
            "run": point.run,
            "created": point.created,
            "commit": point.commit or None,
            "dirty": point.dirty,
            "tool_version": point.tool_version,
            "status": str(point.status),
            "metric": found.metric,
            "value": point.value,
            "unit": found.unit,
            "shown": _shown(point.value, found.unit),
            "time_s": point.time_s,
            "step": steps[point.run].words if point.run in steps else None,
        }
        for point in found.points
    ]


def _document(found: CaseHistory) -> dict[str, Any]:
    """All of a series, exact."""
    return {
        "case": found.case,
        "evidence": found.evidence,
        "backend": found.backend,
        "machine": found.machine,
        "metric": found.metric,
        "unit": found.unit,
        "better": "lower" if found.lower_is_better else "higher",
        "points": found.points,
        "steps": [
            {
                "first_run": step.first.run,
                "first_commit": step.first.commit,
                "verdict": step.verdict,
                "last_run_before": step.last.run,
                "last_commit_before": step.last.commit,
                "before": step.before,
                "after": step.after,
                "change": step.change,
                "worse": step.worse,
                "differs": step.differs,
                "causes": step.causes,
            }
            for step in found.steps
        ],
    }


def _commit(point: HistoryPoint) -> str:
    return point.commit[:COMMIT] + ("+" if point.dirty else "")


def _shown(value: float | None, unit: str) -> str | None:
    return None if value is None else show(value, unit)
