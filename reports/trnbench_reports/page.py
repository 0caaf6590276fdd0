"""The HTML page: sections by depth, one style sheet, one script, the data, a policy that holds them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from trnbench import Drawing, Run, Section, SectionFailed
from trnbench_reports import view, words
from trnbench_reports.compact import compact
from trnbench_reports.payload import payloads
from trnbench_reports.policy import policy
from trnbench_reports.template import asset, fill

if TYPE_CHECKING:
    from markupsafe import Markup

STYLES = ("page.css", "first.css", "views.css", "drawer.css")
SCRIPTS = ("page.js",)


class Placed(NamedTuple):
    """A section with what it shows."""

    section: Section
    body: Markup


def render(runs: Sequence[Run], sections: Iterable[Section]) -> bytes:
    """One self-contained HTML file, the same bytes for the same runs and sections.

    A section that fails is replaced by a box that says so; the others are not affected.
    """
    from markupsafe import Markup

    style = "".join(asset(name) for name in STYLES)
    script = "".join(asset(name) for name in SCRIPTS)
    placed = _placed(runs, sections)
    text = fill(
        "page",
        title=words.clean(", ".join(run.id for run in runs) or "no run", 80),
        policy=policy(style, script),
        style=Markup(style),
        script=Markup(script),
        depths={depth: [each for each in placed if each.section.depth == depth] for depth in (1, 2, 3)},
        titled=any("<h1" in each.body for each in placed if each.section.depth == 1),
        choices=_choices(runs),
        payloads=payloads(runs),
    )
    return words.valid(text.replace("\r\n", "\n").replace("\r", "\n")).encode("utf-8")


def _placed(runs: Sequence[Run], sections: Iterable[Section]) -> list[Placed]:
    """By depth, then order; sections without anything to show are left out, or say what would fill them."""
    drawing = Drawing(runs)
    return [
        Placed(section, compact(body))
        for section in sorted(sections, key=lambda each: (each.depth, each.order, each.name))
        if (body := _body(section, drawing) or _lacking(section))
    ]


def _body(section: Section, drawing: Drawing) -> Markup:
    from markupsafe import escape

    try:
        return escape(drawing.section(section))
    except SectionFailed as error:
        return fill("broken", section=section, what=error.what)


def _lacking(section: Section) -> Markup:
    """What a section without data says of itself; nothing of one that names none."""
    from markupsafe import Markup

    return fill("lacking", section=section) if section.needs else Markup("")


def _choices(runs: Sequence[Run]) -> list[tuple[str, str, list[str]]]:
    """The filters: attribute letter, label, values that occur."""
    cases = [each for run in runs for each in run.measurements]
    names = [record.instance for run in runs for record in view.systems(run)]
    found = (
        ("y", "System", [*names, *(each.case.instance for each in cases)]),
        ("k", "Kernel", sorted({each.case.kernel for each in cases})),
        ("d", "Data type", sorted({each.case.dtype for each in cases if each.case.dtype})),
        ("e", "Evidence", [str(each.evidence.grade) for each in cases]),
        ("t", "Status", [str(each.status) for each in cases]),
    )
    limits = {"d": 40}
    return [
        (letter, label, list(dict.fromkeys(words.clean(v, limits.get(letter, 80)) for v in values)))
        for letter, label, values in found
    ]
