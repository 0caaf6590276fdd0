"""Where the time of a collective goes: one bar each, its parts side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trnbench_reports import numbers
from trnbench_reports.charts.figure import Figure, Series

PARTS = {
    "ideal": "bandwidth bound",
    "algorithm": "algorithm",
    "contention": "contention",
    "latency": "latency",
    "endpoint": "endpoint",
}
SYMBOL = "■"


@dataclass(frozen=True, kw_only=True)
class Spent:
    """Seconds by part, in the order of PARTS."""

    name: str
    anchor: str
    seconds: dict[str, float]
    total: float
    evidence: str


def draw(id: str, title: str, bars: Sequence[Spent], caption: str) -> Figure:
    """Every total is positive."""
    values = []
    for bar in bars:
        start = 0.0
        for index, (part, words_) in enumerate(PARTS.items()):
            share = bar.seconds[part] / bar.total
            if share <= 0:
                continue
            values.append(
                {
                    "n": bar.name,
                    "a": start * 100,
                    "b": (start + share) * 100,
                    "c": f"var(--g{index})",
                    "d": f"{bar.anchor}|{index}|{bar.name}: {words_} "
                    f"{numbers.show(bar.seconds[part], 's')}, {numbers.percent(share)} · {bar.evidence}",
                }
            )
            start += share
    return Figure(
        id=id,
        title=title,
        label=f"{title}. {len(bars)} bars.",
        caption=caption,
        spec={
            "width": 400,
            "padding": {"left": 36, "right": 6, "top": 5, "bottom": 5},
            "height": {"step": 19},
            "data": {"values": values},
            "mark": {"type": "bar", "height": 12},
            "encoding": {
                "x": {
                    "field": "a",
                    "type": "quantitative",
                    "scale": {"domain": [0, 100], "nice": False},
                    "axis": {"title": "share of the time (%)", "grid": True, "tickCount": 5},
                },
                "x2": {"field": "b"},
                "y": {
                    "field": "n",
                    "type": "nominal",
                    "sort": [bar.name for bar in bars],
                    "axis": {"title": None, "labelLimit": 260, "grid": False},
                },
                "fill": {"field": "c", "type": "nominal", "scale": None, "legend": None},
                "description": {"field": "d"},
            },
        },
        series=tuple(
            Series(index=i, name=name, symbol=SYMBOL, colour=i) for i, name in enumerate(PARTS.values())
        ),
        columns=("collective", "time", *PARTS.values(), "evidence"),
        rows=tuple(
            (
                bar.anchor,
                (
                    bar.name,
                    numbers.show(bar.total, "s"),
                    *(numbers.percent(bar.seconds[part] / bar.total) for part in PARTS),
                    bar.evidence,
                ),
            )
            for bar in bars
        ),
    )
