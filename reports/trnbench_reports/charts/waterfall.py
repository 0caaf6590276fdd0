"""From the time at the peak to the time predicted: one bar for each cause, each where the last one ended."""

from __future__ import annotations

import msgspec

from trnbench_reports import numbers, view
from trnbench_reports.charts.figure import Figure, Plane, even, row_scale
from trnbench_reports.losses import Losses

WIDTH = 500
"""Of the drawing, names included: the two drawings of a kernel have letters of one size."""

_ROW, _BAR = 24, 14
_TOTAL = "in all"


class Bar(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds from `start` to `stop`; `kind`: work, loss, or worst for the largest loss."""

    name: str
    start: float
    stop: float
    seconds: float
    kind: str


def bars(losses: Losses) -> list[Bar]:
    """Each begins where the last one ended; the last is the whole time. `losses` has terms."""
    row_scale = _unique([numbers.clean(name, 40) for name, _ in losses.terms])
    columns: list[Bar] = []
    start = 0.0
    for number, (name, (raw, seconds)) in enumerate(zip(row_scale, losses.terms, strict=True)):
        kind = "loss" if number else "work"
        if number and losses.worst is not None and (raw, seconds) == losses.worst:
            kind = "worst"
        columns.append(Bar(name=name, start=start, stop=start + seconds, seconds=seconds, kind=kind))
        start += seconds
    total = Bar(name=_TOTAL, start=0.0, stop=losses.time_s, seconds=losses.time_s, kind="work")
    return [*columns, total]


def draw(id: str, losses: Losses, colour: int, anchor: str) -> Figure:
    """`losses` has terms."""
    step, unit = numbers.scale("s", [losses.time_s])
    columns = bars(losses)
    ends = [max(bar.start, bar.stop) / step for bar in columns]
    # Room for the words behind the longest bar.
    plane = Plane(
        even(f"time ({unit})", max(ends) * 1.75),
        row_scale([bar.name for bar in columns]),
        height=_ROW * len(columns),
        within=WIDTH,
    )
    tints = {"work": f"var(--g{colour})", "worst": "var(--fg)", "loss": "var(--soft)"}
    for row, (bar, end) in enumerate(zip(columns, ends, strict=True)):
        says = _words(bar.name, bar.seconds, losses)
        span = (bar.start / step, bar.stop / step, row + 0.5)
        plane.bar(*span, thick=_BAR, colour=tints[bar.kind], says=says, anchor=anchor)
        plane.words(end, row + 0.5, _label(bar, losses.time_s), dx=5, dy=4)
    title = f"{heading(losses)}: {_finding(losses)}"
    label = f"{title}. {len(losses.terms)} terms add up to {numbers.show(losses.time_s, 's')}."
    return Figure(
        id=id,
        title=f"{numbers.capital(str(losses.case.evidence.grade))}. {title}",
        label=label,
        drawing=plane.svg(label),
        caption=f"{numbers.clean(view.point_text(losses.case), 120)}; the terms add up to the time",
        columns=("cause", "time", "% of the time"),
        rows=tuple(
            ("", (name, numbers.show(seconds, "s"), numbers.percent(seconds / losses.time_s)))
            for name, seconds in [*losses.terms, (_TOTAL, losses.time_s)]
        ),
    )


def _label(bar: Bar, total: float) -> str:
    """`+3.1 µs · 12.0 %`; the first and the last are no losses and carry no sign."""
    sign = "" if bar.kind == "work" else "+" if bar.seconds >= 0 else "−"
    share = numbers.percent(abs(bar.seconds) / total)
    return f"{sign}{numbers.show(abs(bar.seconds), 's')} · {share}"


def heading(losses: Losses) -> str:
    """`gemm on trn2-16.48xlarge, one core`: kernel, system and scope."""
    case = losses.case.case
    return f"{numbers.clean(case.kernel, 40)} on {numbers.clean(case.instance, 60)}, {case.reach}"


def _finding(losses: Losses) -> str:
    judged = losses.case.judgement
    reached = f"{numbers.percent(judged.fraction)} of peak" if judged else "no peak to hold it against"
    worst = losses.worst
    if worst is None or worst[1] <= 0:
        return reached
    share = numbers.percent(worst[1] / losses.time_s)
    return f"{reached}; the largest cause is {numbers.clean(worst[0], 40)}, {share} of the time"


def _words(name: str, seconds: float, losses: Losses) -> str:
    share = numbers.percent(seconds / losses.time_s)
    return numbers.clean(
        f"{name}: {numbers.show(seconds, 's')}, {share} of {numbers.show(losses.time_s, 's')}"
        f" · {losses.case.evidence.grade} · {losses.case.id}",
        300,
    )


def _unique(names: list[str]) -> list[str]:
    """Two causes of one name are two bars."""
    distinct: list[str] = []
    for name in names:
        number = 2
        name_ = name
        while name_ in distinct or name_ == _TOTAL:
            name_ = f"{name} ({number})"
            number += 1
        distinct.append(name_)
    return distinct
