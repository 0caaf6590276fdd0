"""Gain got against gain promised: a dot and a bar's end for each kernel and generation."""

from __future__ import annotations

from collections.abc import Sequence

from trnbench import Record
from trnbench_reports import numbers
from trnbench_reports.charts.figure import Figure, Plane, Series, logarithmic, row_scale

_ALIKE = 0.02
"""A gain that is less short of the promise is not counted as short."""
_UPRIGHT = 0.18  # of a row, above and below the middle of a lane


class Gain(Record, kw_only=True):
    """`got` and `promised` over the oldest generation; None where no document promises one.

    `case` and `first` are the ids of the two that are held together.
    """

    name: str
    generation: str
    got: float
    promised: float | None
    colour: int
    anchor: str
    tooltip: str
    case: str = ""
    first: str = ""


def draw(id: str, gains: Sequence[Gain], reach: str) -> Figure | None:
    """At most 16 kernels: those with a promise, the widest miss first."""
    promised = [gain for gain in gains if gain.promised]
    if not promised:
        return None
    worst = {g.name: 0.0 for g in promised}
    for gain in promised:
        worst[gain.name] = max(worst[gain.name], (gain.promised or 0) / gain.got)
    names = sorted(worst, key=lambda name: -worst[name])[:16]
    shown = [gain for gain in promised if gain.name in names]
    generations = list(dict.fromkeys(gain.generation for gain in shown))
    extremes = [v for gain in shown for v in (gain.got, gain.promised or gain.got)]
    low, high = min(*extremes, 1) / 1.3, max(extremes) * 1.3
    plane = Plane(
        logarithmic("gain over the oldest generation (times)", low, high, base=2),
        row_scale(names),
        width=960,
        height=12 * len(names) + 8,
    )
    for gain in shown:
        lane = generations.index(gain.generation)
        row = names.index(gain.name) + (lane + 1) / (len(generations) + 1)
        colour = f"var(--g{gain.colour})"
        told_of = gain.promised or gain.got
        plane.line([(gain.got, row), (told_of, row)], colour=colour, width=1, opacity=0.6, series=lane)
        ends = [(told_of, row - _UPRIGHT), (told_of, row + _UPRIGHT)]
        plane.line(ends, colour=colour, width=2, series=lane)
        plane.mark(gain.got, row, colour=colour, says=gain.tooltip, anchor=gain.anchor, series=lane)
    short = sum(gain.got < (gain.promised or 0) * (1 - _ALIKE) for gain in shown)
    title = f"One {reach}: {short} of {len(shown)} gains stay short of what the documents promise"
    by_generation = {gain.generation: gain.colour for gain in shown}
    return Figure(
        id=id,
        title=title,
        caption="dot: gain got; upright line: gain promised; widest miss first; "
        f"less than {100 * _ALIKE:.0f}{numbers.NBSP}% is no miss",
        drawing=plane.svg(f"{title}. Dot: gain got; upright line: gain promised."),
        series=tuple(Series(index=i, name=g, colour=by_generation[g]) for i, g in enumerate(generations)),
    )
