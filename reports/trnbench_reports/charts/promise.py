"""One bar on one scale: promise, bound of the clocks, result, best published, band.

Places are per cent of the width, so that the bar fits any; shapes and thicknesses keep their size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup, escape

from trnbench import HeadlineLine
from trnbench_reports import numbers, words

if TYPE_CHECKING:
    from markupsafe import Markup

HEIGHT = 30
_MIDDLE = 17
_FURTHEST = 1.5
"""Times the promise: a document's figure beyond it is told, not drawn; it would squash all others."""


class Tick(NamedTuple):
    """What stands on the scale: `kind` is a class of the style sheet."""

    kind: str
    value: float
    says: str


def ticks(line: HeadlineLine) -> list[Tick]:
    """Everything the bar marks, in the unit of the line's metric."""
    unit = line.sweep.unit
    drawn = []
    if line.of is not None:
        for peak in (*line.others, *((line.since,) if line.since is not None else ())):
            if peak.value <= _FURTHEST * line.of.value and peak.value != line.of.value:
                old = ", superseded" if peak.superseded_by else ""
                source = f"{peak.source} {peak.date[:4]}".strip()
                drawn.append(Tick("other", peak.value, f"{source}{old}: {numbers.show(peak.value, unit)}"))
        drawn.append(Tick("promise", line.of.value, f"promised: {numbers.show(line.of.value, unit)}"))
    if line.clock_value is not None:
        drawn.append(
            Tick("clock", line.clock_value, f"the clocks allow {numbers.show(line.clock_value, unit)}")
        )
    published = published_value(line)
    if published is not None:
        drawn.append(Tick("published", published, f"best published: {numbers.show(published, unit)}"))
    return drawn


def published_value(line: HeadlineLine) -> float | None:
    """Where the best published stands on the line's scale; that of a core is not multiplied: it has none."""
    best = line.published
    if best is None or best.metric != line.sweep.metric or not best.reaches:
        return None
    return best.value


def draw(line: HeadlineLine) -> Markup:
    """`line` is one where more is better."""
    marks = ticks(line)
    sweep = line.sweep
    ends = [each.value for each in marks] + [sweep.best, *(line.expected or ())]
    full = max(ends) * 1.02

    def at(value: float) -> str:
        return f"{max(0.0, min(1.0, value / full)) * 100:.2f}%"

    def wide(low: float, high: float) -> str:
        return f"{max(0.0, (min(high, full) - low) / full) * 100:.2f}%"

    grade = str(line.grade)
    shapes = [f'<rect class="ground" x="0" y="{_MIDDLE - 4}" width="100%" height="8"/>']
    shapes.append(
        f'<rect class="reach g-{grade}" x="0" y="{_MIDDLE - 4}" width="{at(sweep.best)}" height="8"/>'
    )
    sentences = []
    if line.expected is not None:
        low, high = line.expected
        sentence = f"expect {numbers.show(low, sweep.unit)} to {numbers.show(high, sweep.unit)}"
        sentences.append(sentence)
        shapes.append(
            f'<rect class="band" x="{at(low)}" y="{_MIDDLE - 8}" width="{wide(low, high)}" height="16">'
            f"<title>{escape(sentence)}</title></rect>"
        )
    for mark in marks:
        x = at(mark.value)
        sentences.append(mark.says)
        title = f"<title>{escape(words.clean(mark.says, 200))}</title>"
        if mark.kind == "published":
            shapes.append(
                f'<svg class="over" x="{x}" y="{_MIDDLE}">'
                f'<path class="diamond" d="M0-6L6 0L0 6L-6 0Z">{title}</path></svg>'
            )
        else:
            top, bottom = {"promise": (2, 32), "clock": (5, 29), "other": (2, 9)}[mark.kind]
            shapes.append(
                f'<line class="{mark.kind}" x1="{x}" x2="{x}" y1="{top}" y2="{bottom - 2}">{title}</line>'
            )
    by = "model" if grade == "emulated" else grade
    sentence = f"{by}: {numbers.show(sweep.best, sweep.unit)}"
    sentences.append(sentence)
    shapes.append(
        f'<svg class="over" x="{at(sweep.best)}" y="{_MIDDLE}">'
        f'<circle class="result" r="5"><title>{escape(sentence)}</title></circle></svg>'
    )
    label = escape(words.clean("; ".join(sentences), 600))
    return Markup(
        f'<svg class="scale" width="100%" height="{HEIGHT}" role="img" aria-label="{label}">'
        f"{''.join(shapes)}</svg>"
    )
