"""How busy each engine was: its share of the time as a bar, and when as a strip beside it."""

from __future__ import annotations

from trnbench_reports import numbers, view
from trnbench_reports.charts.figure import Figure, Plane, Point, even, linear, row_scale, side_by_side
from trnbench_reports.charts.waterfall import WIDTH, heading
from trnbench_reports.losses import Losses

_ROW, _BAR = 24, 14
_BARS = 230
"""Pixels of the bars and their names, where strips stand beside them."""
_FILL = 0.78  # of a row's height
_GROUND = 0.9  # of a row, from its top


def draw(id: str, losses: Losses, colour: int, anchor: str) -> Figure:
    """`losses` has something that was busy."""
    strips = dict(losses.strip)
    rows = [(name, seconds / losses.time_s) for name, seconds in losses.busy]
    names = [numbers.clean(name, 24) for name, _ in rows]
    tint = f"var(--g{colour})"
    bars = Plane(
        linear("busy", 0.0, 1.6 if strips else 1.2, [(0.0, "0 %"), (0.5, "50 %"), (1.0, "100 %")]),
        row_scale(names),
        height=_ROW * len(rows),
        within=_BARS if strips else WIDTH,
    )
    for row, (name, share) in enumerate(rows):
        says = _words(name, share, losses)
        bars.bar(0.0, min(share, 1.0), row + 0.5, thick=_BAR, colour=tint, says=says, anchor=anchor)
        bars.words(min(share, 1.0), row + 0.5, numbers.percent(share), dx=4, dy=4)
    planes = [bars]
    if strips:
        step, unit = numbers.scale("s", [losses.time_s])
        when = Plane(
            even(f"time ({unit})", losses.time_s / step, most=3),
            row_scale([""] * len(rows)),
            height=_ROW * len(rows),
            within=WIDTH - _BARS,
        )
        for row, (name, _) in enumerate(rows):
            ground = row + _GROUND
            when.line([(0.0, ground), (losses.time_s / step, ground)], width=1, opacity=0.25)
            if outline := strip(row, strips.get(name, ()), losses.time_s / step):
                when.area(outline, colour=tint)
        planes.append(when)
    busiest = max(rows, key=lambda row: row[1])
    busy = numbers.percent(busiest[1])
    title = f"{heading(losses)}: {numbers.clean(busiest[0], 24)} is busy {busy} of the time"
    how = (
        "left: share of the time busy; right: when, from launch to end"
        if strips
        else "share of the time busy"
    )
    point = numbers.clean(view.point_text(losses.case), 120)
    label = f"{title}. {len(rows)} engines and queues."
    return Figure(
        id=id,
        title=f"{numbers.capital(str(losses.case.evidence.grade))}. {title}",
        label=label,
        drawing=side_by_side(planes, label),
        caption=f"{point}; {how}; {numbers.show(losses.time_s, 's')} in all",
        columns=("engine or queue", "busy", "% of the time"),
        rows=tuple(
            ("", (name, numbers.show(seconds, "s"), numbers.percent(seconds / losses.time_s)))
            for name, seconds in losses.busy
        ),
    )


def strip(row: int, shares: tuple[float, ...], length: float) -> list[Point]:
    """The outline: a step for each span on the row's own ground line; equal neighbours are one."""
    ground = row + _GROUND
    points: list[Point] = []
    for number, share in enumerate(shares):
        if number and share == shares[number - 1]:
            continue
        time = number * length / len(shares)
        if points:
            points.append((time, points[-1][1]))
        points.append((time, ground - _FILL * share))
    if not points:
        return []
    return [(0.0, ground), *points, (length, points[-1][1]), (length, ground)]


def _words(name: str, share: float, losses: Losses) -> str:
    return numbers.clean(
        f"{name}: busy {numbers.percent(share)} of {numbers.show(losses.time_s, 's')}"
        f" · {losses.case.evidence.grade} · {losses.case.id}",
        300,
    )
