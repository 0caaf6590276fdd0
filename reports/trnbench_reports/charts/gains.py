"""Gain got against gain promised: a dot and a bar's end for each kernel and generation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trnbench_reports import numbers
from trnbench_reports.charts.figure import Figure, Series
from trnbench_reports.charts.scales import log_axis


@dataclass(frozen=True, kw_only=True)
class Gain:
    """`got` and `promised` over the oldest generation; None where no document promises one."""

    name: str
    generation: str
    got: float
    promised: float | None
    colour: int
    anchor: str
    tooltip: str


def draw(id: str, gains: Sequence[Gain], reach: str) -> Figure | None:
    """At most 16 kernels: those with a promise, the widest miss first."""
    told = [gain for gain in gains if gain.promised]
    if not told:
        return None
    worst = {g.name: 0.0 for g in told}
    for gain in told:
        worst[gain.name] = max(worst[gain.name], (gain.promised or 0) / gain.got)
    names = sorted(worst, key=lambda name: -worst[name])[:16]
    kept = [gain for gain in told if gain.name in names]
    generations = list(dict.fromkeys(gain.generation for gain in kept))
    values = [
        {
            "name": gain.name,
            "got": gain.got,
            "promised": gain.promised,
            "colour": f"var(--g{gain.colour})",
            "lane": generations.index(gain.generation),
            "d": f"{gain.anchor}|{generations.index(gain.generation)}|{gain.tooltip}",
            "l": f"-|{generations.index(gain.generation)}|",
        }
        for gain in kept
    ]
    extremes = [v for gain in kept for v in (gain.got, gain.promised or gain.got)]
    axis = log_axis(
        "gain over the oldest generation (times)", min(*extremes, 1) / 1.3, max(extremes) * 1.3, base=2
    )
    y = {
        "field": "name",
        "type": "nominal",
        "sort": names,
        "axis": {"title": None, "labelLimit": 150, "grid": True},
    }
    offset = {"field": "lane", "type": "ordinal", "scale": {"paddingInner": 0.3, "paddingOuter": 0.4}}
    colour = {"field": "colour", "type": "nominal", "scale": None}
    common = {"y": y, "yOffset": offset}
    spec = {
        "width": 420,
        "height": 22 * len(names) + 10,
        "data": {"values": values},
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 1, "opacity": 0.6},
                "encoding": {
                    **common,
                    "x": {"field": "got", **axis},
                    "x2": {"field": "promised"},
                    "stroke": colour,
                    "description": {"field": "l"},
                },
            },
            {
                "mark": {"type": "tick", "thickness": 2, "size": 9, "orient": "vertical"},
                "encoding": {
                    **common,
                    "x": {"field": "promised", **axis},
                    "color": colour,
                    "description": {"field": "l"},
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 40, "opacity": 1},
                "encoding": {
                    **common,
                    "x": {"field": "got", **axis},
                    "fill": colour,
                    "description": {"field": "d"},
                },
            },
        ],
    }
    short = sum(gain.got < (gain.promised or 0) * 0.98 for gain in kept)
    title = f"{reach.capitalize()}: {short} of {len(kept)} gains stay short of what the documents promise"
    by_generation = {gain.generation: gain.colour for gain in kept}
    return Figure(
        id=id,
        title=title,
        label=f"{title}. Dot: gain got; upright line: gain promised.",
        caption="dot: gain got; upright line: gain promised; widest miss first",
        spec=spec,
        columns=("kernel", "generation", "got", "promised"),
        rows=tuple(
            (g.anchor, (g.name, g.generation, numbers.times(g.got), numbers.times(g.promised or 0)))
            for g in kept
        ),
        series=tuple(Series(index=i, name=g, colour=by_generation[g]) for i, g in enumerate(generations)),
    )
