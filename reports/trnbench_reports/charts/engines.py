"""How busy each engine was: its share of the time as a bar, and when as a strip beside it."""

from __future__ import annotations

from typing import Any

from trnbench_reports import numbers, view, words
from trnbench_reports.charts.figure import Figure
from trnbench_reports.charts.waterfall import WIDTH, heading, room, side
from trnbench_reports.losses import Losses

_ROW = 24
_BARS, _GAP = 140, 14
_FILL = 0.78  # of a row's height


def draw(id: str, losses: Losses, colour: int, anchor: str) -> Figure:
    """`losses` has something that was busy."""
    strips = dict(losses.strip)
    rows = [(name, seconds / losses.time_s) for name, seconds in losses.busy]
    step, unit = numbers.scale("s", [losses.time_s])
    order = [words.clean(name, 24) for name, _ in rows]
    bars = [
        {
            "name": words.clean(name, 24),
            "share": min(share, 1.0),
            "label": numbers.percent(share),
            "d": f"{anchor}|0|{_words(name, share, losses)}",
            "tint": f"var(--g{colour})",
        }
        for name, share in rows
    ]
    shown: list[dict[str, Any]] = [_bars(bars, order, wide=not strips)]
    if strips:
        areas = [
            point
            for place, (name, _) in enumerate(rows)
            for point in _area(place, len(rows), strips.get(name, ()), losses.time_s / step)
        ]
        wide = WIDTH - room(order) - _BARS - _GAP
        shown.append(_strip(areas, len(rows), losses.time_s / step, unit, colour, wide))
    busiest = max(rows, key=lambda row: row[1])
    title = (
        f"{heading(losses)}: {words.clean(busiest[0], 24)} is busy {numbers.percent(busiest[1])} of the time"
    )
    when = (
        "left: share of the time busy; right: when, from launch to end"
        if strips
        else "share of the time busy"
    )
    point = words.clean(view.point_text(losses.case), 120)
    return Figure(
        id=id,
        title=f"{words.capital(str(losses.case.evidence.grade))}. {title}",
        label=f"{title}. {len(rows)} engines and queues.",
        caption=f"{point}; {when}; {numbers.show(losses.time_s, 's')} in all",
        spec={"hconcat": shown, "spacing": _GAP} if len(shown) > 1 else shown[0],
        columns=("engine or queue", "busy", "% of the time"),
        rows=tuple(
            ("", (name, numbers.show(seconds, "s"), numbers.percent(seconds / losses.time_s)))
            for name, seconds in losses.busy
        ),
    )


def _bars(bars: list[dict[str, Any]], order: list[str], *, wide: bool) -> dict[str, Any]:
    y = {
        "field": "name",
        "type": "nominal",
        "sort": order,
        "axis": side(order),
    }
    x = {
        "type": "quantitative",
        "scale": {"domain": [0, 1.18 if wide else 1.5], "nice": False},
        "axis": {"title": "busy", "values": [0, 0.5, 1], "format": ".0%", "grid": True},
    }
    return {
        "width": WIDTH - room(order) if wide else _BARS,
        "height": _ROW * len(bars),
        "data": {"values": bars},
        "layer": [
            {
                "mark": {"type": "bar", "height": 14},
                "encoding": {
                    "y": y,
                    "x": {"field": "share", **x},
                    "fill": {"field": "tint", "type": "nominal", "scale": None, "legend": None},
                    "description": {"field": "d"},
                },
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 11, "aria": False},
                "encoding": {"y": y, "x": {"field": "share", **x}, "text": {"field": "label"}},
            },
        ],
    }


def _area(place: int, count: int, shares: tuple[float, ...], length: float) -> list[dict[str, Any]]:
    """A step for each span, standing on the row's own ground line; equal neighbours are one."""
    ground = count - 1 - place
    made: list[dict[str, Any]] = []
    for number, share in enumerate(shares):
        if not number or share != shares[number - 1]:
            made.append(_point(place, number * length / len(shares), ground, share))
    if made:
        made.append(_point(place, length, ground, shares[-1]))
    return made


def _point(place: int, time: float, ground: int, share: float) -> dict[str, Any]:
    return {"row": place, "t": round(time, 6), "y": ground + _FILL * share, "z": ground}


def _strip(
    areas: list[dict[str, Any]], count: int, length: float, unit: str, colour: int, wide: int
) -> dict[str, Any]:
    x = {
        "type": "quantitative",
        "scale": {"domain": [0, length], "nice": False},
        "axis": {"title": f"time ({unit})", "tickCount": 3, "grid": True, "labelOverlap": "greedy"},
    }
    y = {"type": "quantitative", "scale": {"domain": [-0.1, count - 0.1], "nice": False}, "axis": None}
    grounds = [{"y": row, "a": 0, "b": length} for row in range(count)]
    return {
        "width": wide,
        "height": _ROW * count,
        "layer": [
            {
                "data": {"values": grounds},
                "mark": {"type": "rule", "stroke": "currentColor", "strokeOpacity": 0.25, "aria": False},
                "encoding": {"y": {"field": "y", **y}, "x": {"field": "a", **x}, "x2": {"field": "b"}},
            },
            {
                "data": {"values": areas},
                "mark": {
                    "type": "area",
                    "interpolate": "step-after",
                    "fill": f"var(--g{colour})",
                    "aria": False,
                },
                "encoding": {
                    "x": {"field": "t", **x},
                    "y": {"field": "y", **y},
                    "y2": {"field": "z"},
                    "detail": {"field": "row", "type": "nominal"},
                },
            },
        ],
    }


def _words(name: str, share: float, losses: Losses) -> str:
    return words.clean(
        f"{name}: busy {numbers.percent(share)} of {numbers.show(losses.time_s, 's')}"
        f" · {losses.case.evidence.grade} · {losses.case.id}",
        300,
    )
