"""One bar on one scale: promise, bound of the clocks, result, best published, band.

Places are per cent of the width, so that the bar fits any; shapes and thicknesses keep their size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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
        for each in (*line.others, *((line.since,) if line.since is not None else ())):
            if each.value <= _FURTHEST * line.of.value and each.value != line.of.value:
                old = ", superseded" if each.superseded_by else ""
                told = f"{each.source} {each.date[:4]}".strip()
                drawn.append(Tick("other", each.value, f"{told}{old}: {numbers.show(each.value, unit)}"))
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
    """Where the best published stands on the line's scale, one of a core at its share of a core's promise."""
    if line.of_core is not None and line.of is not None:
        return line.of_core.fraction * line.of.value
    best = line.published
    if best is None or best.metric != line.sweep.metric or not best.reaches:
        return None
    return best.value


def draw(line: HeadlineLine) -> Markup:
    """`line` is one where more is better."""
    from markupsafe import Markup, escape

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
    said = []
    if line.expected is not None:
        low, high = line.expected
        told = f"expect {numbers.show(low, sweep.unit)} to {numbers.show(high, sweep.unit)}"
        said.append(told)
        shapes.append(
            f'<rect class="band" x="{at(low)}" y="{_MIDDLE - 8}" width="{wide(low, high)}" height="16">'
            f"<title>{escape(told)}</title></rect>"
        )
    for mark in marks:
        place = at(mark.value)
        said.append(mark.says)
        title = f"<title>{escape(words.clean(mark.says, 200))}</title>"
        if mark.kind == "published":
            shapes.append(
                f'<svg class="over" x="{place}" y="{_MIDDLE}">'
                f'<path class="diamond" d="M0-6L6 0L0 6L-6 0Z">{title}</path></svg>'
            )
        else:
            top, bottom = {"promise": (2, 32), "clock": (5, 29), "other": (2, 9)}[mark.kind]
            shapes.append(
                f'<line class="{mark.kind}" x1="{place}" x2="{place}" y1="{top}" y2="{bottom - 2}">'
                f"{title}</line>"
            )
    by = "model" if grade == "emulated" else grade
    told = f"{by}: {numbers.show(sweep.best, sweep.unit)}"
    said.append(told)
    shapes.append(
        f'<svg class="over" x="{at(sweep.best)}" y="{_MIDDLE}">'
        f'<circle class="result" r="5"><title>{escape(told)}</title></circle></svg>'
    )
    label = escape(words.clean("; ".join(said), 600))
    return Markup(
        f'<svg class="scale" width="100%" height="{HEIGHT}" role="img" aria-label="{label}">'
        f"{''.join(shapes)}</svg>"
    )
