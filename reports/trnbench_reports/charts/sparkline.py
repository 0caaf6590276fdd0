"""A series as a line the height of a word, with a mark where each step is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnbench import CaseHistory
from trnbench_reports import numbers, words

if TYPE_CHECKING:
    from markupsafe import Markup

_WIDTH, _HEIGHT, _EDGE = 150, 22, 2
_LEAST = 0.01  # of the value: noise in the last digit would fill the height


def draw(found: CaseHistory) -> Markup | str:
    """Values that count over the runs; "" where none does."""
    from markupsafe import Markup

    counted = [(at, point.value) for at, point in enumerate(found.points) if point.counts]
    values = [(at, value) for at, value in counted if value is not None]
    if not values:
        return ""
    low, high = min(value for _, value in values), max(value for _, value in values)
    middle, half = (low + high) / 2, max((high - low) / 2, _LEAST * high / 2)
    last = max(len(found.points) - 1, 1)

    def place(at: float, value: float) -> str:
        x = _EDGE + (_WIDTH - 2 * _EDGE) * at / last
        y = _HEIGHT / 2 - (_HEIGHT / 2 - _EDGE) * (value - middle) / half
        return f"{x:.1f} {y:.1f}"

    where = {point.run: at for at, point in enumerate(found.points)}
    marks = ""
    for step in found.steps:
        at = where[step.first.run] - 0.5
        line = f"M{place(at, middle - half)}L{place(at, middle + half)}"
        marks += f'<path class="{"worse" if step.worse else "better"}" d="{line}"/>'
    path = "L".join(place(at, value) for at, value in values)
    end = place(*values[-1]).split()
    return Markup(
        '<svg class="spark" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img" aria-label="{2}">'
        '{3}<path class="trend" d="M{4}"/><circle cx="{5}" cy="{6}" r="2"/></svg>'
    ).format(_WIDTH, _HEIGHT, _says(found, low, high), Markup(marks), path, *end)


def _says(found: CaseHistory, low: float, high: float) -> str:
    steps = words.plural(len(found.steps), "step")
    span = (
        numbers.show(low, found.unit)
        if low == high
        else f"{numbers.show(low, found.unit)} to {numbers.show(high, found.unit)}"
    )
    return f"{words.plural(len(found.points), 'run')}, {span}, {steps}"
