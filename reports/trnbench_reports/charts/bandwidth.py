"""Bus bandwidth against message size, one line for each system, with what its document promises."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trnbench import Measurement
from trnbench_reports import numbers, view
from trnbench_reports.charts import lines
from trnbench_reports.charts.figure import Figure
from trnbench_reports.charts.lines import Axis, Line, Promise


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """One system's sweep: (message bytes, bus bytes per second, case, anchor)."""

    system: str
    colour: int
    points: tuple[tuple[float, float, Measurement, str], ...]


def draw(id: str, kernel: str, curves: Sequence[Curve]) -> Figure:
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
        Axis(title="message size", unit="B"),
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
