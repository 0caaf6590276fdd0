"""A roofline: what intensity allows, what the documents promise, where the cases stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from trnbench import Measurement
from trnbench_reports import numbers, view, words
from trnbench_reports.charts.figure import SYMBOLS, Figure, Series
from trnbench_reports.charts.plane import Plane, logarithmic
from trnbench_reports.charts.roofline_frame import (
    HEIGHT,
    OWN,
    WIDTH,
    Frame,
    Roof,
    Spot,
    choices,
    rate_text,
    roofs,
    series_name,
    series_of,
    spots,
)

DRAWN = 150
"""Cases of one chart; more are a cloud, and stand in the table of all cases."""


def figure(
    id: str, title: str, index: int, cases: Sequence[Measurement], colour: int, where: str
) -> Figure | None:
    """None when a bandwidth, a roof or every point is missing: then there is no roofline to draw."""
    present, flat = spots(index, cases), roofs(cases)
    point = _furthest(present)
    slopes = choices(cases, "hbm_bandwidth")
    if not point or not flat or not slopes:
        return None
    bandwidth = max(choice.chosen.value for choice in slopes)
    achieved = _achieved(cases)
    best = max(point, key=lambda spot: spot.rate)
    low_x = min(min(s.intensity for s in point), flat[-1].documented / bandwidth) / 4
    high_x = max(max(s.intensity for s in point), flat[0].documented / bandwidth) * 4
    # A handful of tiny cases must not squash the rest: four decades below the highest roof will do.
    high_y = max(flat[0].documented, *flat[0].engines, best.rate) * 2.2
    low_y = max(min(s.rate for s in point) / 2, high_y / 1e5)
    plane = Plane(
        logarithmic("arithmetic intensity (FLOP per byte of HBM)", low_x, high_x),
        logarithmic("achieved FLOP per second", low_y, high_y, "FLOP/s"),
        width=WIDTH,
        height=HEIGHT,
    )
    inside = [spot for spot in point if spot.rate >= low_y]
    frame = Frame(plane, f"var(--g{colour})")
    frame.slope(bandwidth, max(r.documented for r in flat), f"HBM {rate_text(bandwidth, 'B/s')}")
    for roof in flat:
        frame.roof(roof, bandwidth)
    frame.labels(flat, bandwidth)
    frame.best(achieved, best.rate)
    frame.points(inside)
    frame.published(index, inside)
    series = series_of(inside)
    unnamed = len({series_name(spot) for spot in inside}) - len(series)
    main = next(roof for roof in flat if roof.main)
    label = f"{title}. {len(point)} cases; the table below has the same numbers."
    return Figure(
        id=id,
        title=title,
        label=label,
        caption=_caption(where, main, len(point), len(present), len(point) - len(inside), unnamed),
        drawing=plane.svg(label),
        series=tuple(
            Series(index=i, name=name, symbol=SYMBOLS[shape], colour=colour)
            for i, (name, shape) in enumerate(series.items())
        )
        + ((Series(index=len(series), name=f"{unnamed} others"),) if unnamed > 0 else ()),
        columns=("case", "FLOP per byte", "rate", "% of peak", "limited by", "evidence"),
        rows=tuple(_row(spot) for spot in sorted(point, key=lambda s: -s.rate)),
    )


def _furthest(present: Sequence[Spot]) -> list[Spot]:
    """`DRAWN` at most: of each kernel and type those of the highest rate, in turns."""
    if len(present) <= DRAWN:
        return list(present)
    turn: Counter[str] = Counter()
    placed: list[tuple[int, float, int, Spot]] = []
    for spot in sorted(present, key=lambda each: -each.rate):
        name = series_name(spot)
        placed.append((turn[name], -spot.rate, len(placed), spot))
        turn[name] += 1
    return [spot for *_, spot in sorted(placed)[:DRAWN]]


def _caption(where: str, main: Roof, shown: int, cases: int, below: int, unnamed: int) -> str:
    """What the drawing cannot show: lines a few per cent apart, points under the frame, too many cases."""
    kind = "share of the documented figure" if main.shared else "documented"
    text = f"{where}; {'/'.join(main.names)}: {kind} {rate_text(main.documented, 'FLOP/s')}"
    if main.engines:
        text += f", clocks allow {rate_text(main.engines[-1], 'FLOP/s')}"
    if shown < cases:
        text += (
            f"; {shown} of {cases:,} cases, of each kernel the fastest; the table of all cases has the rest"
        )
    if unnamed > 0:
        text += f"; named below: the {len(OWN)} that come furthest; grey: {unnamed} more, in the table"
    text += "; ◆ published"
    if below:
        text += f"; {words.plural(below, 'case')} below the frame, in the table"
    return text


def _row(spot: Spot) -> tuple[str, tuple[str, ...]]:
    case = spot.case
    judged = case.judgement
    return spot.anchor, (
        case.case.fullname,
        numbers.significant(spot.intensity),
        numbers.show(spot.rate, "FLOP/s"),
        numbers.percent(judged.fraction) if judged else "no peak",
        case.bound,
        str(case.evidence.grade),
    )


def _achieved(cases: Sequence[Measurement]) -> float:
    """The highest rate of device memory that any case reached, bytes/s; 0 where none tells."""
    metrics = (metric for case in cases if case.status in view.GOOD for metric in case.metrics.values())
    return max((metric.value for metric in metrics if metric.name == "hbm_bytes_per_s"), default=0.0)
