"""Bus bandwidth along a logarithmic axis, one line for each algorithm or system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trnbench_reports import numbers, words
from trnbench_reports.charts.figure import SHAPES, SYMBOLS, Figure, Series
from trnbench_reports.charts.scales import log_axis


@dataclass(frozen=True, kw_only=True)
class Line:
    """`points`: (x, bytes per second, the row's id or "", what the tooltip says); bold stands out."""

    name: str
    colour: int
    points: tuple[tuple[float, float, str, str], ...]
    bold: bool = False


@dataclass(frozen=True, kw_only=True)
class Axis:
    """`unit` "B" for sizes, "" for counts."""

    title: str
    unit: str = ""


def draw(
    id: str,
    title: str,
    lines: Sequence[Line],
    axis: Axis,
    *,
    caption: str = "",
    promised: tuple[float, str] | None = None,
) -> Figure:
    """`lines` is not empty and every value is positive. `promised`: a level line with its words."""
    xs = [x for line in lines for x, *_ in line.points]
    ys = [y for line in lines for _, y, *_ in line.points] + ([promised[0]] if promised else [])
    ends = min(xs) / 1.4, max(xs) * 1.4
    x = {"field": "x", **log_axis(axis.title, *ends, axis.unit, base=2)}
    y = {"field": "y", **log_axis("bus bandwidth", max(min(ys) / 1.6, max(ys) / 1e5), max(ys) * 2, "B/s")}
    values = [
        {
            "x": at,
            "y": rate,
            "s": index,
            "c": f"var(--g{line.colour})",
            "h": SHAPES[index % len(SHAPES)],
            "w": 3 if line.bold else 1.2,
            "d": f"{anchor or '-'}|{index}|{tip}",
            "l": f"-|{index}|",
        }
        for index, line in enumerate(lines)
        for at, rate, anchor, tip in line.points
    ]
    colour = {"field": "c", "type": "nominal", "scale": None, "legend": None}
    layers: list[dict[str, object]] = []
    if promised:
        level = [{"x": end, "y": promised[0]} for end in ends]
        layers = [
            {
                "data": {"values": level},
                "mark": {"type": "line", "stroke": "currentColor", "strokeWidth": 1.2, "aria": False},
                "encoding": {"x": x, "y": y},
            },
            {
                "data": {"values": level[:1]},
                "mark": {
                    "type": "text",
                    "text": words.clean(promised[1], 60),
                    "align": "left",
                    "dx": 4,
                    "dy": -6,
                    "fontSize": 11,
                    "aria": False,
                },
                "encoding": {"x": x, "y": y},
            },
        ]
    layers += [
        {
            "data": {"values": values},
            "mark": {"type": "line", "clip": True, "opacity": 0.75},
            "encoding": {
                "x": x,
                "y": y,
                "stroke": colour,
                "strokeWidth": {"field": "w", "type": "quantitative", "scale": None, "legend": None},
                "detail": {"field": "s", "type": "nominal"},
                "description": {"field": "l"},
            },
        },
        {
            "data": {"values": values},
            "mark": {"type": "point", "clip": True, "filled": True, "size": 34, "opacity": 0.95},
            "encoding": {
                "x": x,
                "y": y,
                "fill": colour,
                "description": {"field": "d"},
                "shape": {"field": "h", "type": "nominal", "scale": None, "legend": None},
            },
        },
    ]
    return Figure(
        id=id,
        title=title,
        label=f"{title}. {len(values)} points on {len(lines)} lines.",
        caption=caption,
        spec={"width": 440, "height": 240, "layer": layers, "resolve": {"scale": {"shape": "independent"}}},
        series=tuple(
            Series(index=i, name=line.name, symbol=SYMBOLS[SHAPES[i % len(SHAPES)]], colour=line.colour)
            for i, line in enumerate(lines)
        ),
        columns=("line", axis.title, "bus bandwidth"),
        rows=tuple(
            (
                "",
                (
                    line.name,
                    numbers.show(at, "B") if axis.unit else f"{at:,.0f}",
                    numbers.show(rate, "B/s"),
                ),
            )
            for line in lines
            for at, rate, _, _ in line.points
        ),
    )
