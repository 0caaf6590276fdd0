"""One collective over message sizes: what is taken, what the best algorithm would, what the links allow."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from trnbench import Measurement, Record
from trnbench_reports import numbers, view
from trnbench_reports.charts import lines
from trnbench_reports.charts.figure import OWN, PUBLISHED, SYMBOLS, Figure, Plane, Scale, Series, logarithmic
from trnbench_reports.charts.lines import Line, Promise, name_levels

MOST = len(OWN)
"""Systems of one chart; the table has all."""
WIDTH, WHOLE, HEIGHT = 470, 1000, 260
"""Pixels: beside a picture of the links, and alone."""


class Point(Record, kw_only=True):
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

    @property
    def gain(self) -> float:
        """Of the best algorithm over what is taken, as a share."""
        return self.best / self.rate - 1 if self.best else 0.0


class Sweep(Record, kw_only=True):
    """One system; `promised` in bytes per second, 0 where no document gives a figure to hold it against."""

    system: str
    colour: int
    points: tuple[Point, ...]
    promised: float
    faint: bool


FARTHEST = 1000
"""Of the largest share is drawn: systems that are told apart there cannot be told apart on a longer axis."""


def draw(
    id: str, index: int, title: str, sweeps: Sequence[Sweep], what: str, *, alone: bool = False
) -> Figure:
    """`sweeps` is not empty, every size and rate positive. `what` names the axis of rates; a chart that
    stands `alone` takes the width of the page.

    Rates are shares of each system's document where every system has one: so systems can be told apart.
    """
    shown = sweeps[:MOST]
    shares = all(sweep.promised for sweep in shown)
    points = [point for sweep in shown for point in sweep.points]
    units = [sweep.promised if shares else 1.0 for sweep in shown]
    rates = [point.rate / unit for sweep, unit in zip(shown, units, strict=True) for point in sweep.points]
    bounds = [point.bound / unit for sweep, unit in zip(shown, units, strict=True) for point in sweep.points]
    levels = [1.0] if shares else list(dict.fromkeys(sweep.promised for sweep in shown if sweep.promised))
    low = max(min(rates) / 1.6, max(rates) / FARTHEST)
    pairs = zip(shown, units, strict=True)
    points = [point for sweep, unit in pairs for point in sweep.points if point.rate / unit >= low]
    less = len(rates) - len(points)
    high = max([*rates, *bounds, *levels]) * 1.6
    sizes = [point.size for point in points]
    ends = min(sizes) / 1.4, max(sizes) * 1.4
    plane = Plane(
        logarithmic("message size", *ends, "B", base=2, most=6),
        _of_document(low, high) if shares else logarithmic(what, low, high, "B/s"),
        width=WHOLE if alone else WIDTH,
        height=HEIGHT,
    )
    for level in levels:
        plane.line([(ends[0], level), (ends[1], level)], colour="var(--fg)")
    for row, (sweep, unit) in enumerate(zip(shown, units, strict=True)):
        _curves(plane, row, sweep, unit, low)
    names = ["each system's document"] if shares else [numbers.show(level, "B/s") for level in levels]
    promises = [Promise(value=level, words=name) for level, name in zip(levels, names, strict=True)]
    name_levels(plane, promises, ends)
    for row, (sweep, unit) in enumerate(zip(shown, units, strict=True)):
        _points(plane, index, row, sweep, unit, low)
    label = f"{title}. {numbers.plural(len(points), 'case')} on {numbers.plural(len(shown), 'system')}."
    return Figure(
        id=id,
        title=title,
        caption="thick: taken; dashed: what the links allow; dotted: best algorithm; "
        "◆ published of the same size and ranks"
        + (f"; not drawn: {numbers.plural(less, 'case')} below a thousandth of the best" if less else ""),
        drawing=plane.svg(label),
        series=tuple(
            Series(
                index=row,
                name=sweep.system + (" (no band)" if sweep.faint else ""),
                symbol=SYMBOLS[OWN[row]],
                colour=sweep.colour,
            )
            for row, sweep in enumerate(shown)
        ),
    )


def _of_document(low: float, high: float) -> Scale:
    scale = logarithmic("share of the document", low, high)
    return replace(scale, ticks=tuple((value, numbers.percent(value)) for value, _ in scale.ticks))


def _curves(plane: Plane, row: int, sweep: Sweep, unit: float, low: float) -> None:
    """What is taken, what the best algorithm would take, and what the links allow."""
    colour, opacity = f"var(--g{sweep.colour})", 0.5 if sweep.faint else 0.9
    for name, dash, width in (("bound", "5 3", 1.2), ("best", "1 3", 1.2), ("rate", "", 2.4)):
        curve = [(point.size, getattr(point, name) / unit) for point in sweep.points]
        curve = [(size, rate) for size, rate in curve if rate >= low]
        if len(curve) > 1:
            plane.line(curve, colour=colour, dash=dash, width=width, opacity=opacity, series=row)


def _points(plane: Plane, index: int, row: int, sweep: Sweep, unit: float, low: float) -> None:
    """What a sweep reaches at each size, and the published rates beside it."""
    colour = f"var(--g{sweep.colour})"
    for point in sweep.points:
        if point.rate / unit < low:
            continue
        says, anchor = view.tooltip(point.case), view.figure_of(index, point.case)
        plane.mark(
            point.size, point.rate / unit, colour=colour, says=says, anchor=anchor, series=row, shape=OWN[row]
        )
        if point.published:
            plane.mark(
                point.size,
                point.published / unit,
                colour="var(--fg)",
                says=f"published: {numbers.show(point.published, 'B/s')} at {numbers.show(point.size, 'B')}",
                anchor=view.figure_of(index, point.case, view.PUBLISHED),
                series=row,
                shape=PUBLISHED,
            )


class Curve(Record, kw_only=True):
    """One system's sweep: (message bytes, bus bytes per second, case, anchor)."""

    system: str
    colour: int
    points: tuple[tuple[float, float, Measurement, str], ...]


def draw_bandwidth(id: str, kernel: str, curves: Sequence[Curve]) -> Figure:
    """`curves` is not empty and every value is positive."""
    every = [point for curve in curves for point in curve.points]
    promised = _promised(curves)
    judged = [point for point in every if _by_busbw(point[2])]
    name = numbers.clean(kernel, 40)
    top = max(judged or every, key=lambda p: p[2].judgement.fraction if p[2].judgement and judged else p[1])
    instance = numbers.clean(top[2].case.instance, 60)
    title = f"{name}: at best {numbers.show(top[1], 'B/s')}, on {instance}"
    if judged and top[2].judgement is not None:
        share = numbers.percent(top[2].judgement.fraction)
        title = f"{name}: at best {share} of the documented figure, on {instance}"
    grades = numbers.listed(sorted({str(p[2].evidence.grade) for p in every}))
    return lines.draw(
        id,
        f"{numbers.capital(grades)}. {title}",
        [
            Line(
                name=_named(curve),
                colour=curve.colour,
                points=tuple(
                    (size, rate, anchor, view.tooltip(case)) for size, rate, case, anchor in curve.points
                ),
            )
            for curve in curves
        ],
        "message size",
        "B",
        caption=_caption(curves, promised),
        promised=promised,
        what="system",
        label=f"{title}. {len(every)} cases on {len(curves)} systems.",
    )


def _by_busbw(case: Measurement) -> bool:
    """Whether the documented figure is one of bus bandwidth: only such a line belongs on these axes."""
    return case.judgement is not None and case.judgement.metric == "busbw_bytes_per_s"


def _caption(curves: Sequence[Curve], promised: Sequence[Promise]) -> str:
    if not promised:
        return "no document gives a figure to judge this by"
    others = [c.system for c in curves if not any(_by_busbw(case) for _, _, case, _ in c.points)]
    more = f"; {numbers.listed(others)}: judged by its bytes on the network, not drawn" if others else ""
    return f"level lines: the documented figure each system is judged by{more}"


def _named(curve: Curve) -> str:
    """The system, and whether its numbers have no band."""
    faint = any(view.faint(case) for _, _, case, _ in curve.points)
    return f"{curve.system} (without a band)" if faint else curve.system


def _promised(curves: Sequence[Curve]) -> list[Promise]:
    """Documented figures from low to high, each with the systems judged by it and their colour."""
    by_value: dict[float, list[Curve]] = {}
    for curve in curves:
        for _, _, case, _ in curve.points:
            if case.judgement is not None and _by_busbw(case):
                same = by_value.setdefault(case.judgement.peaks.chosen.value, [])
                if curve not in same:
                    same.append(curve)
    return [
        Promise(
            value=value,
            words=numbers.clean(f"{numbers.show(value, 'B/s')} {', '.join(c.system for c in same)}", 48),
            colour=same[0].colour,
        )
        for value, same in sorted(by_value.items())
    ]
