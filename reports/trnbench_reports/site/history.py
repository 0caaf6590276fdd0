"""Cases over the runs of a site: what changed with each run, a feed of it, and the data of one case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from trnbench import CaseHistory, HistoryStep
from trnbench_reports import numbers
from trnbench_reports.payload import packed_columns
from trnbench_reports.view import figure_by_id

SHOWN = 8
"""Changes of a run that its entry in the feed names."""
WAYS = ("worse", "better", "other")
"""Of changes, in the order in which people ask."""


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
    """For the page of a case: the runs, and of each series its values, statuses and steps by run."""
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
            "runs": [position_of[point.run] for point in found.points],
            "values": [point.value for point in found.points],
            "statuses": [str(point.status) for point in found.points],
            "steps": [[position_of[step.first.run], changed(step), step.way] for step in found.steps],
        }
        for found in histories
    ]
    return packed_columns([{"runs": runs, "series": series}])


def feed(entries: Mapping[str, Mapping[str, Any]], changes: Mapping[str, Sequence[Moved]]) -> bytes:
    """Atom (RFC 4287): an entry for each run, the newest first.

    Addresses are relative to the feed, which every reader of Atom resolves: a site knows no other.
    """
    newest = list(entries.values())[-1]
    body = "".join(_entry(run, entry, changes.get(run, ())) for run, entry in reversed(list(entries.items())))
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"<title>trnbench: what changed</title><id>urn:trnbench:site</id><updated>{_time(newest)}</updated>\n"
        '<link rel="self" href="feed.xml"/><link href="index.html"/><author><name>trnbench</name></author>\n'
        f"{body}</feed>\n"
    ).encode()


def _entry(run: str, entry: Mapping[str, Any], moved: Sequence[Moved]) -> str:
    rows = [f"{each.case}: {each.change}{f' ({each.why})' if each.why else ''}" for each in moved[:SHOWN]]
    if len(moved) > SHOWN:
        rows.append(f"{numbers.plural(len(moved) - SHOWN, 'further change')}")
    content = "\n".join(numbers.clean(row) for row in [*entry["answers"], *rows])
    title = f"{summary(entry, moved)}: run {run}"
    return (
        f"<entry><title>{_safe(title)}</title><id>urn:trnbench:run:{_safe(run)}</id>"
        f'<updated>{_time(entry)}</updated><link href="{escape(entry["page"])}"/>'
        f'<content type="text">{_safe(content)}</content></entry>\n'
    )


def summary(entry: Mapping[str, Any], moved: Sequence[Moved]) -> str:
    """ "3 worse, 12 better"."""
    ways = [each.way for each in moved]
    counts = [f"{ways.count(way)} {way}" for way in WAYS if way in ways]
    return ", ".join(counts) or ("no change" if entry["before"] else "nothing to compare it with")


def _time(entry: Mapping[str, Any]) -> str:
    return _safe(entry["created"]) or "1970-01-01T00:00:00Z"


def _safe(text: str) -> str:
    return escape(numbers.valid(numbers.clean(text, 4000)), quote=False)
