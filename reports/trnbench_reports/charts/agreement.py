"""Emulated against published, on equal axes: the diagonal is agreement, the bands are 10 and 25 %."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trnbench import Comparison
from trnbench_reports import numbers, words
from trnbench_reports.charts.figure import SHAPES, SYMBOLS, Figure, Series
from trnbench_reports.charts.scales import log_axis

BANDS = (0.25, 0.10)
_QUANTITY = {"s": "times", "B/s": "data rates", "FLOP/s": "rates of operations", "1": "shares"}


def draw(
    id: str, unit: str, points: Sequence[Comparison], titles: Mapping[str, str], colours: Mapping[str, int]
) -> Figure:
    """All `points` are of `unit` and have both values, above zero; there is at least one.

    `titles` names the families, `colours` gives each generation its colour of the page.
    """
    pairs = [(_positive(each.published), _positive(each.emulated), each) for each in points]
    values = [value for pair in pairs for value in pair[:2]]
    low, high = min(values) / 2, max(values) * 2
    families = list(dict.fromkeys(each.family for each in points))
    x = {"field": "x", **log_axis("published", low, high, unit)}
    y = {"field": "y", **log_axis("emulated", low, high, unit)}
    dots = [
        {
            "x": published,
            "y": emulated,
            "s": families.index(each.family),
            "c": f"var(--g{colours.get(each.generation, 5)})",
            "h": SHAPES[families.index(each.family) % len(SHAPES)],
            "d": f"-|{families.index(each.family)}|{_tooltip(each, published, emulated)}",
        }
        for published, emulated, each in pairs
    ]
    marks = {
        "data": {"values": dots},
        "mark": {"type": "point", "filled": True, "clip": True, "size": 42, "opacity": 0.85},
        "encoding": {
            "x": x,
            "y": y,
            "fill": {"field": "c", "type": "nominal", "scale": None, "legend": None},
            "description": {"field": "d"},
            "shape": {"field": "h", "type": "nominal", "scale": None, "legend": None},
        },
    }
    within = sum(each.error is not None and abs(each.error) <= BANDS[0] for each in points)
    what = _QUANTITY.get(unit, "values")
    title = f"{words.plural(len(points), 'point')} of {what}: {within} within 25 % of the published value"
    return Figure(
        id=id,
        title=words.capital(title),
        label=f"{title}. Emulated against published, logarithmic, equal axes.",
        caption="the diagonal is agreement, bands are ±10 % and ±25 %; each generation has its colour",
        spec={
            "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
            "width": 380,
            "height": 380,
            "layer": [*(_band(share, low, high, x, y) for share in BANDS), _diagonal(low, high, x, y), marks],
        },
        series=tuple(
            Series(index=i, name=titles.get(name, name), symbol=SYMBOLS[SHAPES[i % len(SHAPES)]])
            for i, name in enumerate(families)
        ),
        columns=("point", "family", "published", "emulated", "error", "evidence", "use", "source"),
        rows=tuple(
            (
                "",
                (
                    each.id,
                    titles.get(each.family, each.family),
                    numbers.show(published, unit),
                    numbers.show(emulated, unit),
                    error_text(each.error),
                    "published / emulated",
                    str(each.use),
                    each.source,
                ),
            )
            for published, emulated, each in pairs
        ),
    )


def error_text(error: float | None) -> str:
    """`+12.0 %`, with a true minus and a space that does not break; "–" where there is none."""
    if error is None:
        return "–"
    size = abs(error) * 100
    digits = f"{size:.1f}" if size < 99.95 else f"{size:,.0f}"
    sign = "" if digits == "0.0" else "+" if error >= 0 else "−"
    return f"{sign}{digits}{numbers.NBSP}%"


def _positive(value: float | None) -> float:
    assert value is not None
    return value


def _tooltip(each: Comparison, published: float, emulated: float) -> str:
    return words.clean(
        f"{each.id}: emulated {numbers.show(emulated, each.unit)}, published "
        f"{numbers.show(published, each.unit)}, {error_text(each.error)} · {each.use}",
        300,
    )


def _band(share: float, low: float, high: float, x: dict[str, Any], y: dict[str, Any]) -> dict[str, Any]:
    ends = [{"x": end, "y": end * (1 - share), "z": end * (1 + share)} for end in (low, high)]
    return {
        "data": {"values": ends},
        "mark": {"type": "area", "clip": True, "fill": "currentColor", "opacity": 0.07, "aria": False},
        "encoding": {"x": x, "y": y, "y2": {"field": "z"}},
    }


def _diagonal(low: float, high: float, x: dict[str, Any], y: dict[str, Any]) -> dict[str, Any]:
    return {
        "data": {"values": [{"x": end, "y": end} for end in (low, high)]},
        "mark": {
            "type": "line",
            "stroke": "currentColor",
            "strokeOpacity": 0.6,
            "strokeWidth": 1,
            "aria": False,
        },
        "encoding": {"x": x, "y": y},
    }
