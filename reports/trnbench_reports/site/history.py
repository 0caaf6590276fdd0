"""Cases over the runs of a site: what changed with each run, and the data of the page of one case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from trnbench import CaseHistory, HistoryStep
from trnbench_reports import numbers
from trnbench_reports.charts.sparkline import sparkline
from trnbench_reports.payload import packed_columns
from trnbench_reports.view import figure_by_id


class Moved(NamedTuple):
    """A case whose level changed with a run."""

    case: str
    change: str
    way: str
    why: str


def address(case: str) -> str:
    """The permalink of a case, below the site's folder: its axes may be in any order."""
    return "case.html#" + figure_by_id(0, case, "").partition("&")[0]


def by(grade: str, backend: str) -> str:
    """ "measured by host"; of what says both, one word."""
    return grade if grade == backend else f"{grade} by {backend}"


def moved(histories: Sequence[CaseHistory]) -> dict[str, list[Moved]]:
    """By the first run that has it: what became worse first, the largest first."""
    steps: dict[str, list[tuple[CaseHistory, HistoryStep]]] = {}
    for found in histories:
        for step in found.steps:
            steps.setdefault(step.first.run, []).append((found, step))
    for pairs in steps.values():
        pairs.sort(
            key=lambda pair: (not pair[1].worse, pair[1].change is not None, -abs(pair[1].change or 0.0))
        )
    return {
        run: [Moved(found.case, changed(step), step.way, "; ".join(step.why)) for found, step in pairs]
        for run, pairs in steps.items()
    }


def changed(step: HistoryStep) -> str:
    """ "+3.1 %, slower"; "broken"."""
    if step.change is None:
        return str(step.verdict)
    sign = "+" if step.change > 0 else "−"
    return f"{sign}{abs(step.change) * 100:.1f}{numbers.NBSP}%, {step.verdict}"


def data(histories: Sequence[CaseHistory], entries: Mapping[str, Mapping[str, Any]]) -> bytes:
    """For the page of a case: the runs, and of each series its line, values, statuses and steps by run."""
    position_of = {run: at for at, run in enumerate(entries)}
    runs = [
        {name: entry[name] for name in ("page", "created", "commit", "dirty", "version")} | {"id": run}
        for run, entry in entries.items()
    ]
    series = [
        {
            "case": found.case,
            "metric": found.metric,
            "unit": found.unit,
            "by": by(str(found.evidence), found.backend),
            "machine": found.machine,
            "line": str(sparkline(found)),
            "runs": [position_of[point.run] for point in found.points],
            "values": [point.value for point in found.points],
            "statuses": [str(point.status) for point in found.points],
            "steps": [[position_of[step.first.run], changed(step), step.way] for step in found.steps],
        }
        for found in histories
    ]
    return packed_columns([{"runs": runs, "series": series}])
