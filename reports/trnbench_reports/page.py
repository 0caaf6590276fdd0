"""The HTML page: sections in order, one style sheet, one script, the data, and a policy that holds them."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import trnbench
from trnbench import Drawing, Run, Section, SectionFailed
from trnbench_reports import columns, view, words
from trnbench_reports.compact import compact
from trnbench_reports.formats import csv
from trnbench_reports.policy import policy
from trnbench_reports.template import asset, fill

if TYPE_CHECKING:
    from markupsafe import Markup


def render(runs: Sequence[Run], sections: Iterable[Section]) -> bytes:
    """One self-contained HTML file, the same bytes for the same runs and sections.

    A section that fails is replaced by a box that says so; the others are not affected.
    """
    from markupsafe import Markup

    style, script = asset("page.css"), asset("page.js")
    drawing = Drawing(runs)
    built = [
        (section, compact(body))
        for section in sorted(sections, key=lambda each: (each.order, each.name))
        if (body := _body(section, drawing))
    ]
    text = fill(
        "page",
        runs=runs,
        title=words.clean(", ".join(run.id for run in runs) or "no run", 80),
        policy=policy(style, script),
        style=Markup(style),
        script=Markup(script),
        sections=built,
        choices=_choices(runs),
        data={
            "json": _packed(columns.packed([trnbench.dumps(trnbench.shortened(run)) for run in runs])),
            "csv": _packed(columns.table(csv.write(runs).decode(), len(csv.COLUMNS))),
        },
    )
    return words.valid(text.replace("\r\n", "\n").replace("\r", "\n")).encode("utf-8")


def _body(section: Section, drawing: Drawing) -> Markup:
    from markupsafe import escape

    try:
        return escape(drawing.section(section))
    except SectionFailed as error:
        return fill("broken", section=section, what=error.what)


def _packed(data: bytes) -> Markup:
    """Compressed for the page; a fixed time stamp keeps the bytes the same. Repeats cost nothing."""
    from markupsafe import Markup

    # Markup, so that it is not shortened like text for people; base64 needs no escape.
    return Markup(base64.b64encode(gzip.compress(data, 9, mtime=0)).decode())


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
