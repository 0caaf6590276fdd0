"""What changed with each run, as Atom (RFC 4287): an entry for each run, the newest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from trnbench_reports import words
from trnbench_reports.site.history import Moved

SHOWN = 8
"""Changes of a run that its entry names."""


def feed(entries: Mapping[str, Mapping[str, Any]], changes: Mapping[str, Sequence[Moved]]) -> bytes:
    """Addresses are relative to the feed, which every reader of Atom resolves: a site knows no other."""
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
        rows.append(f"{words.plural(len(moved) - SHOWN, 'further change')}")
    content = "\n".join(words.clean(row) for row in [*entry["answers"], *rows])
    title = f"{summary(entry, moved)}: run {run}"
    return (
        f"<entry><title>{_safe(title)}</title><id>urn:trnbench:run:{_safe(run)}</id>"
        f"<updated>{_time(entry)}</updated><link href={quoteattr(entry['page'])}/>"
        f'<content type="text">{_safe(content)}</content></entry>\n'
    )


def summary(entry: Mapping[str, Any], moved: Sequence[Moved]) -> str:
    """ "3 worse, 12 better"."""
    ways = [each.way for each in moved]
    counts = [f"{ways.count(way)} {way}" for way in WAYS if way in ways]
    return ", ".join(counts) or ("no change" if entry["before"] else "nothing to compare it with")


WAYS = ("worse", "better", "other")
"""Of changes, in the order in which people ask."""


def _time(entry: Mapping[str, Any]) -> str:
    return _safe(entry["created"]) or "1970-01-01T00:00:00Z"


def _safe(text: str) -> str:
    return escape(words.valid(words.clean(text, 4000)))
