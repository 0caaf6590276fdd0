"""The HTML page: sections by depth, one style sheet, one script, the data, a policy that holds them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from trnbench import Drawing, Run, Section, SectionFailed
from trnbench_reports import glossary, numbers
from trnbench_reports.payload import Payload, Shelf, packed, payloads, shelved
from trnbench_reports.sections import comparison
from trnbench_reports.template import SITE_POLICY, asset, fill, policy

PARTS = (
    "numbers.js",  # as people read them
    "columns.js",  # reads the data without putting it together
    "data.js",  # unpacks it; runs, cases, published points
    "words.js",  # what is said of a case
    "elements.js",  # makes elements; text stays text
    "strip.js",  # the timeline
    "explain.js",  # the drawer's blocks
    "drawer.js",  # opens, closes, follows the address
    "table.js",  # sorts, filters, pages
    "cases.js",  # all cases
    "chart.js",  # pointer, keys and legend of charts; saves them
    "page.js",  # where the reader is, what unfolds
)


LISTS = ("numbers.js", "columns.js", "data.js", "elements.js", "table.js", "lists.js")
"""Of a page that has static tables alone."""


def joined_script(parts: Sequence[str] = PARTS) -> str:
    """With \\n line ends: its hash is in the policy."""
    return '(() => {\n"use strict";\n' + "".join(map(asset, parts)) + "})();\n"


_COMMANDS = {
    "cases": "trnbench runs show",
    "fabric": "trnbench fabric run all_reduce",
    "fidelity": "trnbench validate",
    "documents": "trnbench spec list",
    "method": "trnbench runs show --format json",
}
"""What prints the same as a section does, of those that have such a command."""
_ELSE = "trnbench export --as csv"


def folded(section: Section, body: Markup, shelf: Shelf | None = None) -> tuple[Markup, Payload]:
    """What stands in the page in place of `body`, and the payload that holds it."""
    name = f"deep-{section.name}"
    hint = fill("deep", title=section.title, command=_COMMANDS.get(section.name, _ELSE))
    data = numbers.valid(body).encode()
    if shelf is None:
        return hint, Payload(name, packed(data))
    if section.name not in shelf.sections:
        shelf.sections[section.name] = shelf.place(data)
    return hint, Payload(name, address=shelf.root + shelf.sections[section.name])


STYLES = ("page.css", "first.css", "views.css", "drawer.css", "comparison.css")


class Placed(NamedTuple):
    """A section with what it shows."""

    section: Section
    body: Markup
    folded: bool  # in the third depth, and well


def render(
    runs: Sequence[Run], sections: Iterable[Section], before: Run | None = None, shelf: Shelf | None = None
) -> bytes:
    """One self-contained HTML file, the same bytes for the same runs and sections.

    `before`: the run before the last one, whose changes the first screen tells. A section that fails is
    replaced by a box that says so; the others are not affected. `shelf`: style, script, data and all but the
    first screen are files beside the page, which has one run.
    """
    style = "".join(asset(name) for name in STYLES)
    script = joined_script()
    known = shelf.sections if shelf is not None else {}
    sections = list(sections)
    changes = comparison.since(before, runs[-1], len(runs) - 1) if before is not None and runs else Markup("")
    drawing = Drawing(runs, since=changes)
    placed = _placed(drawing, [each for each in sections if each.name not in known], tight=shelf is None)
    placed += [Placed(each, Markup(""), True) for each in sections if each.name in known]
    placed.sort(key=lambda each: _order(each.section))
    if shelf is not None:
        placed = [
            each._replace(body=each.body + glossary.line(each.body), folded=True)
            if each.section.depth == 2
            else each
            for each in placed
        ]
    deep = {
        section.section.name: folded(section.section, section.body, shelf)
        for section in placed
        if section.folded
    }
    text = fill(
        "page",
        title=numbers.clean(", ".join(run.id for run in runs) or "no run", 80),
        policy=policy(style, script) if shelf is None else SITE_POLICY,
        root=shelf.root if shelf is not None else "",
        style=Markup(style),
        script=Markup(script),
        depths={
            depth: [section for section in placed if section.section.depth == depth] for depth in (1, 2, 3)
        },
        titled=any("<h1" in section.body for section in placed if section.section.depth == 1),
        deep={name: hint for name, (hint, _) in deep.items()},
        payloads=[
            *(payloads(runs) if shelf is None else [shelved(runs[0], shelf)]),
            *(payload for _, payload in deep.values()),
        ],
    )
    return numbers.valid(text.replace("\r\n", "\n").replace("\r", "\n")).encode("utf-8")


def _order(section: Section) -> tuple[int, int, str]:
    return section.depth, section.order, section.name


def _placed(drawing: Drawing, sections: Iterable[Section], *, tight: bool = True) -> list[Placed]:
    """By depth, then order; sections without anything to show are left out, or say what would fill them."""
    placed = []
    for section, drawn in drawing.drawn(sorted(sections, key=_order)):
        if isinstance(drawn, SectionFailed):
            placed.append(Placed(section, compact(fill("broken", section=section, what=drawn.what)), False))
        elif drawn:
            body = escape(drawn)
            if tight or section.depth == 1:  # compressed apart, white space takes no room
                body = compact(body)
            placed.append(Placed(section, body, section.depth == 3))
        elif section.needs:
            placed.append(Placed(section, fill("lacking", section=section), False))
    return placed


_ENDS = re.compile(r"</(?:td|th|tr|li)>\s*")
_TAG = re.compile(r"<[a-zA-Z][^<>']*>")
# A slash behind a value without quotes would become part of it.
_QUOTED = re.compile(r'="([A-Za-z0-9_.#%-]+)"(?!/>)')
# Between words a line end is a space; in front of these it is nothing.
_GAP = re.compile(
    r"\s*\n\s*(?=</?(?:tr|td|th|tbody|thead|table|li|ul|ol|div|details|summary|figure|figcaption|p|h\d|dl|dt|dd)\b)"
)


def compact(text: Markup) -> Markup:
    """`text` is a fragment whose words are escaped. Nothing a reader sees changes."""
    if "<pre" in text or "<textarea" in text:  # white space counts there
        return text
    shorter = _TAG.sub(lambda tag: _QUOTED.sub(r"=\1", tag[0]), _ENDS.sub("", str(text)))
    return Markup(_GAP.sub("", shorter))
