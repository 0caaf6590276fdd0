"""The drawing of `trnbench plan --chart`: options by time and cost, and the front that none of them beats."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from trnbench import Pareto, ParetoOption
from trnbench_reports import numbers
from trnbench_reports.charts.figure import Plane, Scale, logarithmic
from trnbench_reports.drawing import document, placed, words_at

WIDTH, _HIGH = 1180, 380
_PLANE, _BESIDE = 640, 770
_LISTED = 16
"""Options of the front that are written out beside the chart."""
_ROW = 34
_ROOM = 1.15
"""Between the outermost options and the frame, as a factor."""
_FRONT, _OTHERS = "var(--g0)", "var(--soft)"


def render(charts: Sequence[Pareto]) -> bytes:
    """One SVG file of the first of `charts`; it follows the reader's colours and fetches nothing."""
    chart = charts[0]
    best = sorted((each for each in chart.options if each.best), key=lambda each: each.time_s)
    plane = _plane(chart, best)
    body = [
        words_at(20, 32, f"Plan of {chart.of}", "large"),
        words_at(20, 54, chart.finding, "strong"),
        placed(str(plane.svg(f"{chart.of}: {chart.finding}")), 20, 76, 0),
        *_list(chart, best),
        words_at(20, 76 + plane.size[1] + 22, _foot(chart), "soft"),
    ]
    high = 76 + max(plane.size[1], 24 + _ROW * min(len(best) + 1, _LISTED + 1)) + 36
    return document(f"trnbench plan of {chart.of}", "".join(body), WIDTH, high)


def _plane(chart: Pareto, best: Sequence[ParetoOption]) -> Plane:
    times = [time for each in chart.options for time in (each.time_s, each.low_s, each.high_s) if time]
    costs = [each.cost for each in chart.options]
    plane = Plane(
        _scale(f"{chart.time} (a line: what its band lets one expect)", times, "s"),
        _scale(chart.cost, costs, "s" if chart.unit == "s" else ""),
        width=_PLANE,
        height=_HIGH,
    )
    stairs = [point for each, after in pairwise(best) for point in _stair(each, after)]
    if stairs:
        plane.line(stairs, colour=_FRONT, dash="4 3", opacity=0.6)
    for each in best:
        if each.low_s:
            band = [(each.low_s, each.cost), (each.high_s, each.cost)]
            plane.line(band, colour=_FRONT, width=3, opacity=0.3)
    for each in sorted(chart.options, key=lambda each: each.best):
        colour = _FRONT if each.best else _OTHERS
        plane.mark(each.time_s, each.cost, colour=colour, says=_said(chart, each))
    for number, each in enumerate(best[:_LISTED], 1):
        plane.words(each.time_s, each.cost, str(number), dx=6, dy=-5, bold=True)
    return plane


def _stair(one: ParetoOption, after: ParetoOption) -> list[tuple[float, float]]:
    """What is behind the line is beaten by one of the two."""
    return [(one.time_s, one.cost), (after.time_s, one.cost), (after.time_s, after.cost)]


def _scale(title: str, values: Sequence[float], unit: str) -> Scale:
    return logarithmic(title, min(values) / _ROOM, max(values) * _ROOM, unit)


def _list(chart: Pareto, best: Sequence[ParetoOption]) -> list[str]:
    """The front in words, fastest first."""
    items = []
    for number, option in enumerate(best[:_LISTED], 1):
        y = 96 + _ROW * (number - 1)
        items.append(words_at(_BESIDE, y, f"{number}  {numbers.clean(option.name, 60)}", "strong"))
        items.append(words_at(_BESIDE + 18, y + 14, _figures(chart, option), "soft"))
    if len(best) > _LISTED:
        more = f"and {len(best) - _LISTED:,} more: trnbench plan --format json"
        items.append(words_at(_BESIDE, 96 + _ROW * _LISTED, more, "soft"))
    return items


def _figures(chart: Pareto, option: ParetoOption) -> str:
    time, cost = numbers.show(option.time_s, "s"), _cost(chart, option.cost)
    if not option.low_s:
        return f"{time}, no band; {cost}"
    expected = f"{numbers.show(option.low_s, 's')} to {numbers.show(option.high_s, 's')}"
    return f"{time}, expect {expected}; {cost}"


def _cost(chart: Pareto, cost: float) -> str:
    if chart.unit == "s":
        return f"{numbers.show(cost, 's')} of a device"
    return f"{numbers.significant(cost)} {chart.unit}"


def _said(chart: Pareto, option: ParetoOption) -> str:
    return f"{option.name}: {_figures(chart, option)}{', on the front' if option.best else ''}"


def _foot(chart: Pareto) -> str:
    return f"{len(chart.options):,} options, emulated; blue: nothing is both faster and cheaper"
