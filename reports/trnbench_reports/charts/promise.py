"""One bar on one scale: promise, bound of the clocks, result, best published, band.

Places are per cent of the width, so that the bar fits any; shapes and thicknesses keep their size.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from markupsafe import Markup, escape

from trnbench import HeadlineLine, HeadlinePart
from trnbench_reports import numbers

HEIGHT = 26
_MIDDLE = 13
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
        says = f"promised: {line.of.figure or numbers.show(line.of.value, unit)}"
        if not line.of.printed:
            says = f"{says}, which bounds this at {numbers.show(line.of.value, unit)}"
        drawn.append(Tick("promise", line.of.value, says))
    if line.clock_value is not None:
        drawn.append(
            Tick("clock", line.clock_value, f"the clocks allow {numbers.show(line.clock_value, unit)}")
        )
    best = line.published
    # That of a core is not multiplied: it has no place on this scale.
    if best is not None and best.metric == line.sweep.metric and best.reaches:
        drawn.append(Tick("published", best.value, f"best published: {numbers.show(best.value, unit)}"))
    return drawn


def draw(line: HeadlineLine) -> Markup:
    """`line` is one where more is better."""
    sweep, grade = line.sweep, str(line.grade)
    marks = ticks(line)
    full = max([mark.value for mark in marks] + [sweep.best, *(line.expected or ())]) * 1.02
    shapes = [
        f'<rect class="reach g-{grade}" x="0" y="{_MIDDLE - 4}" width="{_at(sweep.best, full)}" height="8"/>'
    ]
    sentences = []
    if line.expected is not None:
        low, high = line.expected
        sentence = f"expect {numbers.show(low, sweep.unit)} to {numbers.show(high, sweep.unit)}"
        sentences.append(sentence)
        wide = f"{max(0.0, (min(high, full) - low) / full) * 100:.2f}%"
        shapes.append(
            f'<rect class="band" x="{_at(low, full)}" y="{_MIDDLE - 8}" width="{wide}" height="16">'
            f"<title>{escape(sentence)}</title></rect>"
        )
    shapes += [_tick(mark, full) for mark in marks]
    by = "model" if grade == "emulated" else grade
    sentence = f"{by}: {numbers.show(sweep.best, sweep.unit)}"
    shapes.append(
        f'<svg class="over" x="{_at(sweep.best, full)}" y="{_MIDDLE}">'
        f'<circle class="result" r="5"><title>{escape(sentence)}</title></circle></svg>'
    )
    return _scale(shapes, [*sentences, *(mark.says for mark in marks), sentence])


def draw_part(part: HeadlinePart) -> Markup:
    """The best published of a part of the device, as a share of what is promised of that part."""
    best = part.published
    promise = best.value / part.fraction
    marks = (
        Tick("promise", promise, f"promised {part.where}: {numbers.show(promise, best.unit)}"),
        Tick("published", best.value, f"best published: {numbers.show(best.value, best.unit)}"),
    )
    full = max(mark.value for mark in marks) * 1.02
    return _scale([_tick(mark, full) for mark in marks], [mark.says for mark in marks])


def _at(value: float, full: float) -> str:
    return f"{max(0.0, min(1.0, value / full)) * 100:.2f}%"


def _tick(mark: Tick, full: float) -> str:
    x, title = _at(mark.value, full), f"<title>{escape(numbers.clean(mark.says, 200))}</title>"
    if mark.kind == "published":
        return (
            f'<svg class="over" x="{x}" y="{_MIDDLE}">'
            f'<path class="diamond" d="M0-6L6 0L0 6L-6 0Z">{title}</path></svg>'
        )
    top, bottom = {"promise": (2, 24), "clock": (4, 22), "other": (1, 6)}[mark.kind]
    return f'<line class="{mark.kind}" x1="{x}" x2="{x}" y1="{top}" y2="{bottom}">{title}</line>'


def _scale(shapes: Iterable[str], sentences: Iterable[str]) -> Markup:
    label = escape(numbers.clean("; ".join(sentences), 600))
    ground = f'<rect class="ground" x="0" y="{_MIDDLE - 4}" width="100%" height="8"/>'
    return Markup(
        f'<svg class="scale" width="100%" height="{HEIGHT}" role="img" aria-label="{label}">'
        f"{ground}{''.join(shapes)}</svg>"
    )
