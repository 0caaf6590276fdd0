"""The page of `trnbench history`: a line for each case, the largest steps first, and what they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from markupsafe import Markup

from trnbench import CaseHistory, HistoryPoint
from trnbench_reports import numbers, view
from trnbench_reports.charts import lines
from trnbench_reports.charts.figure import Plane, Scale, linear
from trnbench_reports.page import LISTS, joined_script
from trnbench_reports.template import asset, fill, policy

_COMMIT = 10
_WIDTH, _HEIGHT = 620, 150
_LINE, _WORSE, _BETTER = "var(--g0)", "var(--g8)", "var(--g2)"
OPENED = 700
"""Points of the series whose chart, steps and runs stand on the page, those with the largest last step first;
the others have their line in the table, and the command shows each of them alone."""


def render(found: Sequence[CaseHistory]) -> bytes:
    """One HTML file, the same bytes for the same histories. Without a script it does not sort and filter."""
    style, script = asset("page.css") + asset("history.css"), joined_script(LISTS)
    ranked = sorted(found, key=_weight)
    points = accumulate(len(each.points) for each in ranked)
    opened = max(sum(1 for count in points if count <= OPENED), 1)
    text = fill(
        "history",
        title="history of " + numbers.plural(len(found), "case"),
        policy=policy(style, script),
        style=Markup(style),
        script=Markup(script),
        found=ranked,
        sparkline=lines.sparkline,
        step_text=view.step_text,
        chart=_chart,
        steps=_steps,
        runs=_runs,
        stepped=sum(1 for each in found if each.steps),
        opened=opened,
        evidence=sorted({str(each.evidence) for each in ranked}),
    )
    return numbers.valid(text).encode("utf-8")


def _weight(found: CaseHistory) -> tuple[bool, bool, float]:
    """What has a step goes first, one without a size before those with one, these by size."""
    change = found.steps[-1].change if found.steps else None
    return not found.steps, change is not None, -abs(change or 0.0)


def _chart(found: CaseHistory) -> Markup | str:
    """Every value that counts over the runs, the levels between steps, and a line where each step is."""
    counted = [(at, point) for at, point in enumerate(found.points) if point.counts]
    values = [(at, point.value) for at, point in counted if point.value is not None]
    if not values:
        return ""
    last = len(found.points) - 1
    plane = Plane(
        linear(_run_title(found.points), -0.5, last + 0.5, _run_ticks(found.points)),
        _value_scale(found, [value for _, value in values]),
        width=_WIDTH,
        height=_HEIGHT,
    )
    position_of = {point.run: at for at, point in enumerate(found.points)}
    steps = [step for step in found.steps if step.change is not None]
    starts = [0.0, *(position_of[step.first.run] - 0.5 for step in steps), last + 0.5]
    levels = [steps[0].before, *(step.after for step in steps)] if steps else []
    for start, end, level in zip(starts, starts[1:], levels, strict=False):
        if level is not None:
            plane.line([(start, level), (end, level)], dash="4 3", opacity=0.7)
    for step, start in zip(steps, starts[1:], strict=False):
        colour = {"worse": _WORSE, "better": _BETTER}.get(step.way, _LINE)
        plane.line([(start, plane.y.low), (start, plane.y.high)], colour=colour, width=1.6)
    plane.line(values, colour=_LINE, opacity=0.6)
    for at, point in counted:
        if point.value is not None:
            says = f"{point.run}: {numbers.show(point.value, found.unit)}, {numbers.moment(point.created)}"
            plane.mark(at, point.value, colour=_LINE, says=says)
    return plane.svg(f"{found.case}: {found.metric} over {numbers.plural(len(found.points), 'run')}")


def _run_ticks(points: Sequence[HistoryPoint]) -> list[tuple[float, str]]:
    every = max(1, -(-len(points) // 6))
    of_a_day = slice(11, 16) if _day(points) else slice(10)
    return [(float(at), points[at].created[of_a_day]) for at in range(0, len(points), every)]


def _run_title(points: Sequence[HistoryPoint]) -> str:
    day = _day(points)
    return f"runs of {day}, UTC" if day else "runs, oldest first"


def _day(points: Sequence[HistoryPoint]) -> str:
    """The one that all runs were made on, or "" for several."""
    first, *others = {point.created[:10] for point in points}
    return "" if others else first


def _value_scale(found: CaseHistory, values: Sequence[float]) -> Scale:
    """Room around the values, and at least two per cent of them in height."""
    low, high = min(values), max(values)
    margin = max((high - low) * 0.1, high * 0.01)
    low, high = max(low - margin, 0.0), high + margin
    ticks = [low + (high - low) * part for part in (0.1, 0.5, 0.9)]
    named = [(tick, numbers.show(tick, found.unit, 4).replace(numbers.NBSP, " ")) for tick in ticks]
    return linear(numbers.clean(found.metric, 60), low, high, named)


def _steps(found: CaseHistory) -> list[tuple[str, ...]]:
    return [
        (
            step.first.run,
            f"{_commit(step.last)} → {_commit(step.first)}",
            view.step_text(step),
            *(
                numbers.show(level, found.unit) if level is not None else "–"
                for level in (step.before, step.after)
            ),
            "; ".join(step.why) or "–",
        )
        for step in found.steps
    ]


def _runs(found: CaseHistory) -> list[tuple[str, ...]]:
    """The newest first."""
    steps = {step.first.run: view.step_text(step) for step in found.steps}
    return [
        (
            point.run,
            numbers.moment(point.created),
            _commit(point),
            point.tool_version,
            str(point.status),
            numbers.show(point.value, found.unit) if point.value is not None else "–",
            steps.get(point.run, ""),
        )
        for point in reversed(found.points)
    ]


def _commit(point: HistoryPoint) -> str:
    return (point.commit[:_COMMIT] or "–") + (" and changes" if point.dirty else "")
