"""One collective over message sizes: what is taken, what the best algorithm would, what the links allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trnbench import Measurement
from trnbench_reports import numbers, view, words
from trnbench_reports.charts.figure import SHAPES, SYMBOLS, Figure, Series
from trnbench_reports.charts.lines import Promise, name_levels
from trnbench_reports.charts.plane import Plane, logarithmic

PUBLISHED = SHAPES.index("diamond")
"""Of the marks of what is published; systems have the others."""
OWN = tuple(place for place in range(len(SHAPES)) if place != PUBLISHED)
MOST = len(OWN)
"""Systems of one chart; the table has all."""
WIDTH, HEIGHT = 470, 270


@dataclass(frozen=True, kw_only=True)
class Point:
    """One size: bytes per second taken, of the best algorithm and of the bound, 0 where not known.

    `published`: the best published of this very size and ranks.
    """

    case: Measurement
    size: float
    rate: float
    best: float
    best_name: str
    bound: float
    published: float


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """One system; `promised` in bytes per second, 0 where no document gives a figure to hold it against."""

    system: str
    colour: int
    points: tuple[Point, ...]
    promised: float
    faint: bool


def draw(id: str, index: int, title: str, sweeps: Sequence[Sweep], what: str) -> Figure:
    """`sweeps` is not empty, every size and rate positive. `what` names the axis of rates."""
    shown = sweeps[:MOST]
    points = [point for sweep in shown for point in sweep.points]
    rates = [point.rate for point in points]
    high = max([*rates, *(sweep.promised for sweep in shown), *(point.bound for point in points)])
    low = max(min(rates) / 1.6, max(rates) / 1e4)
    sizes = [point.size for point in points]
    ends = min(sizes) / 1.4, max(sizes) * 1.4
    plane = Plane(
        logarithmic("message size", *ends, "B", base=2, most=6),
        logarithmic(what, low, high * 1.6, "B/s"),
        width=WIDTH,
        height=HEIGHT,
    )
    for row, sweep in enumerate(shown):
        colour = f"var(--g{sweep.colour})"
        opacity = 0.5 if sweep.faint else 0.9
        if sweep.promised:
            plane.line([(ends[0], sweep.promised), (ends[1], sweep.promised)], colour=colour, series=row)
        for name, dash in (("bound", "5 3"), ("best", "1 3")):
            curve = [(p.size, getattr(p, name)) for p in sweep.points if getattr(p, name) >= low]
            if len(curve) > 1:
                plane.line(curve, colour=colour, dash=dash, opacity=opacity, series=row)
        line = [(point.size, point.rate) for point in sweep.points if point.rate >= low]
        plane.line(line, colour=colour, width=2.4, opacity=opacity, series=row)
    levels = dict.fromkeys(sweep.promised for sweep in shown if sweep.promised)
    name_levels(plane, [Promise(value=level, words=numbers.show(level, "B/s")) for level in levels], ends)
    for row, sweep in enumerate(shown):
        _points(plane, index, row, sweep, low)
    label = f"{title}. {words.plural(len(points), 'case')} on {words.plural(len(shown), 'system')}."
    return Figure(
        id=id,
        title=title,
        label=label,
        caption="thick: taken; level: documented; dashed: what the links allow; dotted: best algorithm; "
        "◆ published of the same size and ranks",
        drawing=plane.svg(label),
        series=tuple(
            Series(
                index=row,
                name=sweep.system + (" (no band)" if sweep.faint else ""),
                symbol=SYMBOLS[SHAPES[OWN[row]]],
                colour=sweep.colour,
            )
            for row, sweep in enumerate(shown)
        ),
    )


def _points(plane: Plane, index: int, row: int, sweep: Sweep, low: float) -> None:
    """What a sweep reaches at each size, and the published rates beside it."""
    colour = f"var(--g{sweep.colour})"
    for point in sweep.points:
        if point.rate < low:
            continue
        anchor = view.figure_of(index, point.case)
        says = view.tooltip(point.case)
        plane.mark(
            point.size,
            point.rate,
            colour=colour,
            says=says,
            anchor=anchor,
            series=row,
            shape=OWN[row],
        )
        if point.published:
            told = f"published: {numbers.show(point.published, 'B/s')} at {numbers.show(point.size, 'B')}"
            to = view.figure_of(index, point.case, view.PUBLISHED)
            plane.mark(
                point.size,
                point.published,
                colour="var(--fg)",
                says=told,
                anchor=to,
                series=row,
                shape=PUBLISHED,
            )
