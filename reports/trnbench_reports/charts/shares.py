"""Where the time of a collective goes: one bar each, its parts side by side."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trnbench_reports import glossary, numbers
from trnbench_reports.charts.figure import Figure, Series
from trnbench_reports.charts.plane import Plane, linear, row_scale

PARTS = {
    "ideal": "bandwidth bound",
    "algorithm": "algorithm",
    "contention": "contention",
    "latency": "latency",
    "endpoint": "endpoint",
}
COLOURS = {part: "work" if part == "ideal" else glossary.cause(part) for part in PARTS}
SYMBOL = "■"
_ROW, _BAR = 19, 12


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds by part, in the order of PARTS."""

    name: str
    anchor: str
    seconds: dict[str, float]
    total: float
    evidence: str


def draw(id: str, title: str, bars: Sequence[Spent], caption: str) -> Figure:
    """Every total is positive."""
    ticks = [(part, f"{part:.0f} %") for part in (0, 25, 50, 75, 100)]
    plane = Plane(
        linear("share of the time", 0, 100, ticks),
        row_scale([bar.name for bar in bars]),
        width=380,
        height=_ROW * len(bars),
    )
    for row, bar in enumerate(bars):
        start = 0.0
        for index, (part, words_) in enumerate(PARTS.items()):
            share = bar.seconds[part] / bar.total
            if share <= 0:
                continue
            says = (
                f"{bar.name}: {words_} {numbers.show(bar.seconds[part], 's')}, "
                f"{numbers.percent(share)} · {bar.evidence}"
            )
            plane.bar(
                start * 100,
                (start + share) * 100,
                row + 0.5,
                thick=_BAR,
                colour=f"var(--c-{COLOURS[part]})",
                says=says,
                anchor=bar.anchor,
                series=index,
            )
            start += share
    label = f"{title}. {len(bars)} bars."
    return Figure(
        id=id,
        title=title,
        label=label,
        drawing=plane.svg(label),
        caption=caption,
        series=tuple(
            Series(index=i, name=name, symbol=SYMBOL, colour=COLOURS[part])
            for i, (part, name) in enumerate(PARTS.items())
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
