"""From the time at the peak to the time predicted: one bar for each cause, each where the last one ended."""

from __future__ import annotations

from typing import Any

from trnbench_reports import numbers, view, words
from trnbench_reports.charts.figure import Figure
from trnbench_reports.losses import Losses

WIDTH = 500
"""Of the drawing, names included: the two drawings of a kernel have letters of one size."""

_TOTAL = "in all"
_LETTER = 6.9  # pixels of a letter at 12 pixels, in the widest of the fonts a page may get


def draw(id: str, losses: Losses, colour: int, anchor: str) -> Figure:
    """`losses` has terms."""
    step, unit = numbers.scale("s", [losses.time_s])
    bars: list[dict[str, Any]] = []
    start = 0.0
    worst = losses.worst
    names = _unique([words.clean(name, 40) for name, _ in losses.terms])
    for number, (name, (raw, seconds)) in enumerate(zip(names, losses.terms, strict=True)):
        end = start + seconds
        tint = f"var(--g{colour})" if not number else "var(--soft)"
        if worst is not None and number and (raw, seconds) == worst:
            tint = "var(--fg)"
        bars.append(_bar(name, start, end, tint, f"{anchor}|0|{_words(name, seconds, losses)}", step))
        start = end
    whole = f"{anchor}|0|{_words(_TOTAL, losses.time_s, losses)}"
    bars.append(_bar(_TOTAL, 0.0, losses.time_s, f"var(--g{colour})", whole, step))
    order = [each["name"] for each in bars]
    for each, seconds in zip(bars, [*(s for _, s in losses.terms), losses.time_s], strict=True):
        sign = "" if each["name"] in (order[0], _TOTAL) else "+" if seconds >= 0 else "−"
        share = numbers.percent(abs(seconds) / losses.time_s)
        each["label"] = f"{sign}{numbers.significant(abs(seconds) / step)} {unit} · {share}"
        each["end"] = max(each["a"], each["b"])
    top = max(each["end"] for each in bars)
    y = {
        "field": "name",
        "type": "nominal",
        "sort": order,
        "axis": side(order),
    }
    x = {
        "type": "quantitative",
        "scale": {"domain": [0, top * 1.42], "nice": False},
        "axis": {"title": f"time ({unit})", "tickCount": 5, "grid": True, "labelOverlap": "greedy"},
    }
    spec = {
        "width": WIDTH - room(order),
        "height": 24 * len(bars),
        "data": {"values": bars},
        "layer": [
            {
                "mark": {"type": "bar", "height": 14},
                "encoding": {
                    "y": y,
                    "x": {"field": "a", **x},
                    "x2": {"field": "b"},
                    "fill": {"field": "tint", "type": "nominal", "scale": None, "legend": None},
                    "description": {"field": "d"},
                },
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 5, "fontSize": 11, "aria": False},
                "encoding": {"y": y, "x": {"field": "end", **x}, "text": {"field": "label"}},
            },
        ],
    }
    title = f"{heading(losses)}: {_finding(losses)}"
    return Figure(
        id=id,
        title=f"{words.capital(str(losses.case.evidence.grade))}. {title}",
        label=f"{title}. {len(losses.terms)} terms add up to {numbers.show(losses.time_s, 's')}.",
        caption=f"{words.clean(view.point_text(losses.case), 120)}; the terms add up to the time",
        spec=spec,
        columns=("cause", "time", "% of the time"),
        rows=tuple(
            ("", (name, numbers.show(seconds, "s"), numbers.percent(seconds / losses.time_s)))
            for name, seconds in [*losses.terms, (_TOTAL, losses.time_s)]
        ),
    )


def room(names: list[str]) -> int:
    """Pixels that the names of bars take; the fonts of viewers are wider than the converter's."""
    return round(min(190, 10 + _LETTER * max(map(len, names))))


def side(names: list[str]) -> dict[str, Any]:
    """The axis that carries the names of bars."""
    wide = room(names)
    return {
        "title": None,
        "labelLimit": wide,
        "minExtent": wide,
        "maxExtent": wide,
        "domain": False,
        "ticks": False,
    }


def heading(losses: Losses) -> str:
    """`gemm on trn2-16.48xlarge, one core`: kernel, system and scope."""
    case = losses.case.case
    return f"{words.clean(case.kernel, 40)} on {words.clean(case.instance, 60)}, {case.scope}"


def _finding(losses: Losses) -> str:
    judged = losses.case.judgement
    reached = f"{numbers.percent(judged.fraction)} of peak" if judged else "no peak to hold it against"
    worst = losses.worst
    if worst is None or worst[1] <= 0:
        return reached
    share = numbers.percent(worst[1] / losses.time_s)
    return f"{reached}; the largest cause is {words.clean(worst[0], 40)}, {share} of the time"


def _words(name: str, seconds: float, losses: Losses) -> str:
    share = numbers.percent(seconds / losses.time_s)
    return words.clean(
        f"{name}: {numbers.show(seconds, 's')}, {share} of {numbers.show(losses.time_s, 's')}"
        f" · {losses.case.evidence.grade} · {losses.case.id}",
        300,
    )


def _bar(name: str, start: float, end: float, tint: str, told: str, step: float) -> dict[str, Any]:
    return {"name": name, "a": start / step, "b": end / step, "tint": tint, "d": told}


def _unique(names: list[str]) -> list[str]:
    """Two causes of one name are two bars."""
    found: list[str] = []
    for name in names:
        number = 2
        made = name
        while made in found or made == _TOTAL:
            made = f"{name} ({number})"
            number += 1
        found.append(made)
    return found
