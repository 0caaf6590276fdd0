"""Drawings the height of a word: a series as a line, a sweep as a bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from trnbench import CaseHistory
from trnbench_reports import numbers

if TYPE_CHECKING:
    from markupsafe import Markup

_WIDTH, _HEIGHT, _EDGE = 150, 22, 2
_LEAST = 0.01  # of the value: noise in the last digit would fill the height


def sparkline(found: CaseHistory) -> Markup | str:
    """Values that count over the runs; "" where none does."""
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

    position_of = {point.run: at for at, point in enumerate(found.points)} if found.steps else {}
    marks = ""
    for step in found.steps:
        at = position_of.get(step.first.run, last + 0.5) - 0.5  # a run that lost the case comes last
        line = f"M{place(at, middle - half)}L{place(at, middle + half)}"
        marks += f'<path class="{step.way}" d="{line}"/>'
    path = [place(at, value) for at, value in values]
    x, y = path[-1].split()
    # Numbers and words of ours alone but for the label: `Markup.format` would look at each piece.
    return Markup(
        f'<svg class="spark" width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
        f' aria-label="{escape(_says(found, low, high))}">{marks}<path class="trend" d="M{"L".join(path)}"/>'
        f'<circle cx="{x}" cy="{y}" r="2"/></svg>'
    )


def _says(found: CaseHistory, low: float, high: float) -> str:
    steps = numbers.plural(len(found.steps), "step")
    span = (
        numbers.show(low, found.unit)
        if low == high
        else f"{numbers.show(low, found.unit)} to {numbers.show(high, found.unit)}"
    )
    return f"{numbers.plural(len(found.points), 'run')}, {span}, {steps}"


_FULL = 1.1
"""Share at the right end: what exceeds its document is still seen to."""


def span_bar(low: float | None, high: float, grade: str, published: float | None = None) -> Markup:
    """`low` is None for a single case: then only where it stands is marked; `published` by a diamond."""

    def at(share: float) -> float:
        return max(0.0, min(share, _FULL)) / _FULL * 100

    end = at(high)
    start = at(low) if low is not None else end
    diamond = ""
    if published is not None:
        shape = '<path class="diamond" d="M0 1L3 4.5L0 8L-3 4.5Z"/>'
        diamond = f'<svg x="{at(published):.1f}%" overflow="visible">{shape}</svg>'
    return Markup(
        '<svg class="span" width="100%" height="9" aria-hidden="true">'
        f'<path class="rail" d="M0 4.5H999"/><rect class="fill g-{grade}" x="{start:.1f}%" y="1.5"'
        f' width="{max(end - start, 0):.1f}%" height="6"/>'
        f'<rect class="best" x="{end:.1f}%" width="2.5" height="9"/>'
        f'<rect class="full" x="{100 / _FULL:.1f}%" width="1" height="9"/>{diamond}</svg>'
    )
