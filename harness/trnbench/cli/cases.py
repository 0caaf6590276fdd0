"""Stored runs: which of them a command is about, and their cases as rows."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from trnbench.case_key import joint
from trnbench.errors import UnknownName
from trnbench.facts.units import percent
from trnbench.facts.units import show as show_value
from trnbench.results.expectation import expected, nearness_of
from trnbench.store.store import Store

if TYPE_CHECKING:
    from trnbench.results.measurement import Measurement
    from trnbench.results.run import Run
    from trnbench.store.store import RunSummary
    from trnbench.terminal.context import Session


def run_row(each: RunSummary) -> dict[str, object]:
    """A row of the list of runs."""
    return {
        "run": each.id,
        "created": each.created,
        "finished": each.finished,
        "evidence": str(each.grade),
        "backend": each.backend,
        "policy": each.policy,
        "cases": each.cases,
        "cases_text": str(each.cases) if each.cases >= each.planned else f"{each.cases} of {each.planned}",
        "planned": each.planned,
        **{str(status): count for status, count in each.counts.items()},
        "outcome": ", ".join(f"{count:,} {status}" for status, count in each.counts.items() if count),
        "state": each.state,
        "tags": list(each.tags),
        "instances": list(each.instances),
        "tool_version": each.tool_version,
    }


def run_head(found: Run) -> dict[str, object]:
    """What holds for all cases of a run."""
    return {
        "id": found.id,
        "created": found.created,
        "finished": found.finished,
        "evidence": str(found.grade),
        "backend": found.backend,
        "policy": str(found.policy),
        "tool_version": found.tool_version,
        "interrupted": found.interrupted,
        "missing": found.missing,
        "cut_short": found.cut_short,
        "notes": list(found.notes),
    }


def opening(found: Run, shown: int) -> str:
    """What a person is told before the `shown` cases of a run."""
    total = len(found.measurements)
    lines = [
        f"run {found.id}: {found.grade} by {found.backend}, {found.created}, trnbench {found.tool_version}",
        f"{shown} of {total} cases; percentages of the {found.policy} peaks",
    ]
    if found.cut_short:
        lines.append(f"this run was cut short: {found.cut_short}")
    return "\n".join(lines + [f"note: {note}" for note in found.notes])


def wanted(
    each: Measurement, statuses: tuple[str, ...], kernels: tuple[str, ...], instances: tuple[str, ...]
) -> bool:
    """Whether a case is of one of these statuses, kernels and systems (names or globs); all for none."""

    def fits(name: str, patterns: tuple[str, ...]) -> bool:
        return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)

    return (
        (not statuses or str(each.status) in statuses)
        and fits(each.case.kernel, kernels)
        and fits(each.case.instance, instances)
    )


def case_row(each: Measurement) -> dict[str, object]:
    """A row of the list of cases: exact values, and as people read them."""
    metric = each.metrics.get(each.primary)
    judged = each.judgement
    return {
        "id": each.id,
        "instance": each.case.instance,
        "case": each.case.fullname,
        "division": str(each.case.division or ""),
        "status": str(each.status),
        "metric": each.primary,
        "value": metric.value if metric else None,
        "unit": metric.unit if metric else "",
        "shown": show_value(metric.value, metric.unit) if metric else None,
        "fraction": judged.fraction if judged else None,
        "of_peak": percent(judged.fraction) if judged else None,
        "time": show_value(each.time_s, "s") if each.time_s is not None else None,
        "time_s": each.time_s,
        "interval_low_s": each.interval.low if each.interval else None,
        "interval_high_s": each.interval.high if each.interval else None,
        "within": percent((each.interval.high - each.interval.low) / 2 / each.time_s)
        if each.interval and each.time_s
        else None,
        "processes": len(each.processes),
        "stability": each.stability.verdict if each.stability else "",
        "evidence": str(each.evidence.grade),
        **_near(each),
        "by": each.evidence.by,
        "reason": each.reason_text or None,
    }


def _near(each: Measurement) -> dict[str, object]:
    """How near the nearest published evidence is, what to expect by it, and the best published."""
    nearest, interval, metric = each.evidence.nearest, expected(each), each.metrics.get(each.primary)
    best = nearest.best if nearest is not None else None
    return {
        "near": nearness_of(each) or None,
        "expect": " to ".join(show_value(end, metric.unit) for end in interval)
        if interval is not None and metric is not None
        else None,
        "expected_low": interval[0] if interval else None,
        "expected_high": interval[1] if interval else None,
        "best_published": best.value if best else None,
        "best_published_id": best.id if best else "",
        "nearness_note": nearest.note if nearest is not None else "",
    }


def stored_case(shared: Session, run: str, case: str) -> tuple[Run, Measurement]:
    """`case`: an id, or the case without its system where only one has it. Raises `UnknownName`."""
    with Store(shared.store_path) as store:
        stored = store.load(run)
    fitting = [
        each for each in stored.measurements if joint(case) in (each.case.joint, joint(each.case.fullname))
    ]
    if len(fitting) != 1:
        begun = [each for each in stored.measurements if each.id.startswith(case)] if case else []
        known = [each.id for each in fitting or begun or stored.measurements]
        raise UnknownName("case", case, known, try_=f"trnbench runs show {stored.id}")
    return stored, fitting[0]
