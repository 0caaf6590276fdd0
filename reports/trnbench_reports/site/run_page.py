"""The page of one run of a site, its picture, and what the other pages say of it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import chain
from typing import Any

import msgspec

from trnbench import Run, Section, Site, UsageError, headline
from trnbench_reports import numbers, page
from trnbench_reports.formats import parts
from trnbench_reports.payload import Stored, packed
from trnbench_reports.sections.headline import question
from trnbench_reports.site import history

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
LETTERS = 16
"""Of a digest, in the name of a file."""
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,80}")


class Shelf:
    """What pages share, by the digest of its content: what runs have alike is one file.

    The files are scripts: from file:// a page may read nothing else. `root` as in `payload.Shelf`.
    """

    root = "../"

    def __init__(self, earlier: tuple[Run, Mapping[str, Stored]] | None, sections: Mapping[str, str]) -> None:
        self.files: dict[str, bytes] = {}
        self.earlier = earlier
        self.stored: dict[str, Stored] = {}
        self.sections = dict(sections)

    def place(self, data: bytes) -> str:
        name = f"data/{hashlib.sha256(data).hexdigest()[:LETTERS]}.js"
        if name not in self.files:
            self.files[name] = script(name, data)
        return name


def script(name: str, data: bytes) -> bytes:
    """A script that hands `data` over by the `name` of its file."""
    return f'(self.trnbench ??= {{}})[{json.dumps(name)}] = "{packed(data)}";\n'.encode()


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
        "by": history.by(str(run.grade), run.backend),
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
