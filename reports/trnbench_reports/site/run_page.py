"""The page of one run of a site, its picture, its histories, and what the other pages say of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from html import escape
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from trnbench import CaseHistory, HistoryStep, Run, Section, Site, UsageError, headline
from trnbench_reports import numbers, page
from trnbench_reports.formats import parts
from trnbench_reports.payload import LETTERS, Shelf, Stored, packed_columns
from trnbench_reports.sections.headline import question
from trnbench_reports.view import figure_by_id, step_text

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
        run: [Moved(found.case, step_text(step), step.way, "; ".join(step.why)) for found, step in pairs]
        for run, pairs in steps.items()
    }


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
            "steps": [[position_of[step.first.run], step_text(step), step.way] for step in found.steps],
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


LEFT_OUT = ("rooflines", "fabric")
"""Sections that `trnbench report` has beside these: every chart again, which would be most of a site."""
SEEN: Mapping[str, Callable[[Run], object]] = {
    "trnbench_reports.sections.fidelity:render": lambda run: (run.fidelity, run.systems),
    "trnbench_reports.sections.documents:render": lambda run: (
        (run.policy, run.books, run.systems),
        [(m.case.instance, m.judgement and m.judgement.peaks, m.reference_peaks) for m in run.measurements],
    ),
}
"""What a section looks at, of those that look at no result: where a run has the very same as the one before,
its section is the same too."""
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,80}")


def file_name(run: str) -> str:
    """Of a run's page without its suffix; an id that is no name of a file goes by its digest."""
    if _PLAIN.fullmatch(run):
        return f"runs/{run}"
    return f"runs/{hashlib.sha256(run.encode('utf-8', 'replace')).hexdigest()[:16]}"


def write(
    id: str, asked: Site, entries: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, Any], dict[str, bytes | None]]:
    """What index, history and feed say of the run, and its files by name; None stands for those of runs that
    `entries` has."""
    run, name = asked.load(id), file_name(id)
    before = asked.before(id)
    known = entries[before.id] if before is not None else {}
    sections = [each for each in asked.sections if each.name not in LEFT_OUT]
    seen = {each.name: _seen(run, each) for each in sections if each.render in SEEN}
    alike = [name for name, mark in seen.items() if known.get("seen", {}).get(name) == mark]
    shelf = Shelf(
        (before, {name: Stored(*each) for name, each in known["stored"].items()})
        if before is not None
        else None,
        {name: known["sections"][name] for name in alike if name in known["sections"]},
    )
    files: dict[str, bytes | None] = {f"{name}.html": page.render([run], sections, before, shelf)}
    answered = headline(run)
    with suppress(UsageError):  # no line to draw
        files[f"{name}.svg"] = parts.headline_svg([run], [answered])
    stored = chain.from_iterable(each.files for each in shelf.stored.values())
    files |= dict.fromkeys([*stored, *shelf.sections.values()])
    files |= shelf.files
    return {
        "page": f"{name}.html",
        "before": before.id if before is not None else "",
        "picture": f"{name}.svg" if f"{name}.svg" in files else "",
        "question": question([run]),
        "created": run.created,
        "commit": _text(run.environment.get("git_commit")),
        "dirty": run.environment.get("git_dirty") is True,
        "version": run.tool_version,
        "by": by(str(run.grade), run.backend),
        "cases": len(run.measurements),
        "cut_short": run.cut_short,
        "answers": [numbers.clean(card.sentence, 300) for card in answered.cards if card.sentence]
        or [numbers.clean(said.text, 300) for _, said in answered.said[:3]],
        "stored": shelf.stored,
        "seen": seen,
        "sections": {name: shelf.sections[name] for name in seen if name in shelf.sections},
        "files": sorted(files),
    }, files


def _seen(run: Run, section: Section) -> str:
    return hashlib.sha256(msgspec.msgpack.encode(SEEN[section.render](run))).hexdigest()[:LETTERS]


def _text(value: object) -> str:
    return numbers.clean(value, 40) if isinstance(value, str) else ""
