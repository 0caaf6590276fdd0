"""Bus bandwidth against message size, one line for each system, with what its document promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trnbench import Measurement
from trnbench_reports import numbers, view, words
from trnbench_reports.charts.figure import SHAPES, SYMBOLS, Figure, Series
from trnbench_reports.charts.scales import log_axis


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One system's sweep: (message bytes, bus bytes per second, case, anchor)."""

    system: str
    colour: int
    points: tuple[tuple[float, float, Measurement, str], ...]


def draw(id: str, kernel: str, curves: Sequence[Curve]) -> Figure:
    """`curves` is not empty and every value is positive."""
    every = [point for curve in curves for point in curve.points]
    promised = _promised(curves)
    sizes, rates = [p[0] for p in every], [p[1] for p in every]
    x = {"field": "x", **log_axis("message size", min(sizes) / 1.5, max(sizes) * 1.5, "B", base=2)}
    low = max(min(rates) / 1.6, max(rates) / 1e5)
    y = {
        "field": "y",
        **log_axis("bus bandwidth", low, max([*rates, *(value for value, _, _ in promised)]) * 2, "B/s"),
    }
    values = []
    for index, curve in enumerate(curves):
        for size, rate, case, anchor in sorted(curve.points, key=lambda p: p[0]):
            values.append(
                {
                    "x": size,
                    "y": rate,
                    "s": index,
                    "c": f"var(--g{curve.colour})",
                    "h": SHAPES[index % len(SHAPES)],
                    "d": f"{anchor}|{index}|{view.tooltip(case)}",
                    "l": f"-|{index}|",
                }
            )
    colour = {"field": "c", "type": "nominal", "scale": None, "legend": None}
    lines, labels = [], []
    for number, (value, names, tint) in enumerate(promised):
        ends = (min(sizes) / 1.5, max(sizes) * 1.5)
        right = number % 2 == 1  # neighbours are close: left and right take turns
        lines.append(
            {
                "data": {"values": [{"x": end, "y": value} for end in ends]},
                "mark": {"type": "line", "stroke": f"var(--g{tint})", "strokeWidth": 1.2, "aria": False},
                "encoding": {"x": x, "y": y},
            }
        )
        labels.append(
            {
                "data": {"values": [{"x": ends[right], "y": value}]},
                "mark": {
                    "type": "text",
                    "text": words.clean(f"{numbers.show(value, 'B/s')} {names}", 44),
                    "align": "right" if right else "left",
                    "dx": -4 if right else 4,
                    "dy": -6,
                    "fontSize": 11,
                    "aria": False,
                },
                "encoding": {"x": x, "y": y},
            }
        )
    sweep = {
        "data": {"values": values},
        "mark": {"type": "line", "clip": True, "strokeWidth": 1.2, "opacity": 0.7},
        "encoding": {
            "x": x,
            "y": y,
            "stroke": colour,
            "detail": {"field": "s", "type": "nominal"},
            "description": {"field": "l"},
        },
    }
    marks = {
        "data": {"values": values},
        "mark": {"type": "point", "clip": True, "filled": True, "size": 34, "opacity": 0.95},
        "encoding": {
            "x": x,
            "y": y,
            "fill": colour,
            "description": {"field": "d"},
            "shape": {"field": "h", "type": "nominal", "scale": None, "legend": None},
        },
    }
    judged = [point for point in every if point[2].judgement]
    name = words.clean(kernel, 40)
    top = max(judged or every, key=lambda p: p[2].judgement.fraction if p[2].judgement else p[1])
    where = words.clean(top[2].case.instance, 60)
    title = f"{name}: at best {numbers.show(top[1], 'B/s')}, on {where}"
    if top[2].judgement is not None:
        share = numbers.percent(top[2].judgement.fraction)
        title = f"{name}: at best {share} of the documented figure, on {where}"
    grades = words.listed(sorted({str(p[2].evidence.grade) for p in every}))
    return Figure(
        id=id,
        title=f"{words.capital(grades)}. {title}",
        label=f"{title}. {len(every)} cases on {len(curves)} systems.",
        caption="level lines: the documented figure each system is judged by"
        if promised
        else "no document gives a figure to judge this by",
        spec={
            "width": 440,
            "height": 260,
            "layer": [*lines, *labels, sweep, marks],
            "resolve": {"scale": {"shape": "independent"}},
        },
        series=tuple(
            Series(index=i, name=_named(curve), symbol=SYMBOLS[SHAPES[i % len(SHAPES)]], colour=curve.colour)
            for i, curve in enumerate(curves)
        ),
        columns=("case", "message", "bus bandwidth", "% of peak", "evidence"),
        rows=tuple(
            (
                anchor,
                (
                    case.id,
                    numbers.show(size, "B"),
                    numbers.show(rate, "B/s"),
                    numbers.percent(case.judgement.fraction) if case.judgement else "no peak",
                    f"{case.evidence.grade}{', unvalidated' if case.evidence.unvalidated else ''}",
                ),
            )
            for size, rate, case, anchor in every
        ),
    )


def _named(curve: Curve) -> str:
    """The system, and whether anything published stands against its numbers."""
    unproven = any(case.evidence.unvalidated for _, _, case, _ in curve.points)
    return f"{curve.system} (unvalidated)" if unproven else curve.system


def _promised(curves: Sequence[Curve]) -> list[tuple[float, str, int]]:
    """Documented figures from low to high: value, the systems judged by it, their colour."""
    found: dict[float, list[Curve]] = {}
    for curve in curves:
        for _, _, case, _ in curve.points:
            if case.judgement is not None:
                same = found.setdefault(case.judgement.peaks.chosen.value, [])
                if curve not in same:
                    same.append(curve)
    return [
        (value, ", ".join(curve.system for curve in same), same[0].colour)
        for value, same in sorted(found.items())
    ]
