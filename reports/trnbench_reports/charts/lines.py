"""Bandwidth along a logarithmic axis, one line for each system or algorithm, with the documented figures."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trnbench_reports import numbers
from trnbench_reports.charts.figure import LETTER, SHAPES, SYMBOLS, Figure, Plane, Series, logarithmic

_APART = 12  # pixels between two lines of small words


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """`points`: (x, bytes per second, the row's id or "", what the tooltip says); bold stands out."""

    name: str
    colour: int
    points: tuple[tuple[float, float, str, str], ...]
    bold: bool = False


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """`unit` "B" for sizes, "" for counts."""

    title: str
    unit: str = ""


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    """A documented figure in bytes per second: a level line and what stands on it."""

    value: float
    words: str
    colour: int | None = None


def draw(
    id: str,
    title: str,
    lines: Sequence[Line],
    axis: Axis,
    *,
    caption: str = "",
    promised: Sequence[Promise] = (),
    what: str = "line",
    width: int = 400,
    height: int = 240,
    label: str = "",
) -> Figure:
    """`lines` is not empty and every value is positive. `what` heads the first column of the table."""
    xs = [x for line in lines for x, *_ in line.points]
    rates = [y for line in lines for _, y, *_ in line.points]
    top = max([*rates, *(each.value for each in promised)])
    low = max(min([*rates, *(each.value for each in promised)]) / 1.6, max(rates) / 1e5)
    ends = min(xs) / 1.4, max(xs) * 1.4
    plane = Plane(
        logarithmic(axis.title, *ends, axis.unit, base=2),
        logarithmic("bus bandwidth", low, top * 2, "B/s"),
        width=width,
        height=height,
    )
    for promise in promised:
        colour = "currentColor" if promise.colour is None else f"var(--g{promise.colour})"
        plane.line([(ends[0], promise.value), (ends[1], promise.value)], colour=colour)
    name_levels(plane, promised, ends)
    for index, line in enumerate(lines):
        places = [(at, rate) for at, rate, _, _ in line.points]
        colour = f"var(--g{line.colour})"
        plane.line(places, colour=colour, width=2.6 if line.bold else 1.2, opacity=0.75, series=index)
    for index, line in enumerate(lines):
        for at, rate, anchor, tip in line.points:
            colour = f"var(--g{line.colour})"
            plane.mark(at, rate, colour=colour, says=tip, anchor=anchor, series=index, shape=index)
    columns, rows = _table(lines, axis, what)
    label = (
        label or f"{title}. {numbers.plural(len(rates), 'point')} on {numbers.plural(len(lines), 'line')}."
    )
    return Figure(
        id=id,
        title=title,
        label=label,
        drawing=plane.svg(label),
        caption=caption,
        series=tuple(
            Series(index=i, name=line.name, symbol=SYMBOLS[SHAPES[i % len(SHAPES)]], colour=line.colour)
            for i, line in enumerate(lines)
        ),
        columns=columns,
        rows=rows,
    )


def name_levels(plane: Plane, promised: Sequence[Promise], ends: tuple[float, float]) -> None:
    """On their line at its left end, further right or below where it would touch another name or line."""
    levels = [plane.py(each.value) for each in promised]
    occupied: list[tuple[float, float, float]] = []  # left and right end, height
    for promise in sorted(promised, key=lambda each: -each.value):
        text = numbers.clean(promise.words, 48)
        wide, height = LETTER * 0.92 * len(text), plane.py(promise.value)
        room = plane.width - wide - 4
        places = [(start, high) for high in (height - 4, height + 11) for start in (4.0, room, room / 2)]
        free = (
            (start, high)
            for start, high in places
            if start >= 4
            and high < plane.height
            and not any(high - _APART < level < high + 1 for level in levels)
            and all(abs(high - y) > _APART or start + wide < a or start > b for a, b, y in occupied)
        )
        place = next(free, None)
        if place is None:
            continue  # the table and the list of peaks have it
        start, high = place
        occupied.append((start, start + wide, high))
        plane.words(ends[0], promise.value, text, dx=start, dy=high - height)


def _table(
    lines: Sequence[Line], axis: Axis, what: str
) -> tuple[tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...]]:
    """A row for each line, which leads to its last case, and a column for each place on the axis."""
    places = sorted({at for line in lines for at, *_ in line.points})
    shown = [numbers.show(at, axis.unit) if axis.unit else f"{at:,.0f}" for at in places]
    rows = []
    for line in lines:
        rates = {at: rate for at, rate, *_ in line.points}
        cells = [numbers.show(rates[at], "B/s") if at in rates else "–" for at in places]
        anchors = [anchor for *_, anchor, _ in line.points if anchor]
        rows.append((anchors[-1] if anchors else "", (line.name, *cells)))
    return (f"{what}, bus bandwidth at", *shown), tuple(rows)
