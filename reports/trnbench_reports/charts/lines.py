"""Lines: bandwidth along a logarithmic axis beside the documented figures, and the small ones of a row."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape

from trnbench import CaseHistory, Record
from trnbench_reports import numbers
from trnbench_reports.charts.figure import LETTER, SYMBOLS, Figure, Plane, Series, logarithmic

_APART = 12  # pixels between two lines of small words


class Line(Record, kw_only=True):
    """`points`: (x, bytes per second, the row's id or "", what the tooltip says); bold stands out."""

    name: str
    colour: int
    points: tuple[tuple[float, float, str, str], ...]
    bold: bool = False


class Promise(Record, kw_only=True):
    """A documented figure in bytes per second: a level line and what stands on it."""

    value: float
    words: str
    colour: int | None = None


def draw(
    id: str,
    title: str,
    lines: Sequence[Line],
    axis: str,
    unit: str,
    *,
    caption: str,
    what: str,
    promised: Sequence[Promise] = (),
    height: int = 240,
    label: str = "",
) -> Figure:
    """`lines` is not empty and every value is positive. `unit` of the axis is "B" for sizes, "" for counts;
    `what` heads the first column of the table."""
    xs = [x for line in lines for x, *_ in line.points]
    rates = [y for line in lines for _, y, *_ in line.points]
    top = max([*rates, *(each.value for each in promised)])
    low = max(min([*rates, *(each.value for each in promised)]) / 1.6, max(rates) / 1e5)
    ends = min(xs) / 1.4, max(xs) * 1.4
    plane = Plane(
        logarithmic(axis, *ends, unit, base=2),
        logarithmic("bus bandwidth", low, top * 2, "B/s"),
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
    columns, rows = _table(lines, unit, what)
    label = (
        label or f"{title}. {numbers.plural(len(rates), 'point')} on {numbers.plural(len(lines), 'line')}."
    )
    return Figure(
        id=id,
        title=title,
        drawing=plane.svg(label),
        caption=caption,
        series=tuple(
            Series(index=i, name=line.name, symbol=SYMBOLS[i % len(SYMBOLS)], colour=line.colour)
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
    lines: Sequence[Line], unit: str, what: str
) -> tuple[tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...]]:
    """A row for each line, which leads to its last case, and a column for each place on the axis."""
    places = sorted({at for line in lines for at, *_ in line.points})
    shown = [numbers.show(at, unit) if unit else f"{at:,.0f}" for at in places]
    rows = []
    for line in lines:
        rates = {at: rate for at, rate, *_ in line.points}
        cells = [numbers.show(rates[at], "B/s") if at in rates else "–" for at in places]
        anchors = [anchor for *_, anchor, _ in line.points if anchor]
        rows.append((anchors[-1] if anchors else "", (line.name, *cells)))
    return (f"{what}, bus bandwidth at", *shown), tuple(rows)


_WIDTH, _HEIGHT, _EDGE = 150, 22, 2
_LEAST = 0.01  # of the value: noise in the last digit would fill the height


def sparkline(found: CaseHistory) -> Markup | str:
    """Values that count over the runs; "" where none does."""
    counted = [(at, point.value) for at, point in enumerate(found.points) if point.counts]
    values = [(at, value) for at, value in counted if value is not None]
    if not values:
        return ""
    low, high = min(value for _, value in values), max(value for _, value in values)
    middle, half = (low + high) / 2, max((high - low) / 2, _LEAST * high / 2)
    last = max(len(found.points) - 1, 1)

    def place(at: float, value: float) -> str:
        x = _EDGE + (_WIDTH - 2 * _EDGE) * at / last
        y = _HEIGHT / 2 - (_HEIGHT / 2 - _EDGE) * (value - middle) / half
        return f"{x:.1f} {y:.1f}"

    position_of = {point.run: at for at, point in enumerate(found.points)} if found.steps else {}
    marks = ""
    for step in found.steps:
        # A run that lost the case has no point: its mark is at the last that has it, at the end behind all.
        behind = position_of.get(step.last.run, last) if len(found.points) > 1 else last
        at = position_of.get(step.first.run, behind + 0.5) - 0.5
        line = f"M{place(at, middle - half)}L{place(at, middle + half)}"
        marks += f'<path class="{step.way}" d="{line}"/>'
    path = [place(at, value) for at, value in values]
    x, y = path[-1].split()
    # Numbers and words of ours alone but for the label: `Markup.format` would look at each piece.
    return Markup(
        f'<svg class="spark" width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
        f' aria-label="{escape(_says(found, low, high))}">{marks}<path class="trend" d="M{"L".join(path)}"/>'
        f'<circle cx="{x}" cy="{y}" r="2"/></svg>'
    )


def _says(found: CaseHistory, low: float, high: float) -> str:
    steps = numbers.plural(len(found.steps), "step")
    span = (
        numbers.show(low, found.unit)
        if low == high
        else f"{numbers.show(low, found.unit)} to {numbers.show(high, found.unit)}"
    )
    return f"{numbers.plural(len(found.points), 'run')}, {span}, {steps}"


_FULL = 1.1
"""Share at the right end: what exceeds its document is still seen to."""


def span_bar(low: float | None, high: float, grade: str, published: float | None) -> Markup:
    """`low` is None for a single case: then only where it stands is marked; `published` by a diamond."""

    def at(share: float) -> float:
        return max(0.0, min(share, _FULL)) / _FULL * 100

    end = at(high)
    start = at(low) if low is not None else end
    diamond = ""
    if published is not None:
        shape = '<path class="diamond" d="M0 1L3 4.5L0 8L-3 4.5Z"/>'
        diamond = f'<svg x="{at(published):.1f}%" overflow="visible">{shape}</svg>'
    return Markup(
        '<svg class="span" width="100%" height="9" aria-hidden="true">'
        f'<path class="rail" d="M0 4.5H999"/><rect class="fill g-{grade}" x="{start:.1f}%" y="1.5"'
        f' width="{max(end - start, 0):.1f}%" height="6"/>'
        f'<rect class="best" x="{end:.1f}%" width="2.5" height="9"/>'
        f'<rect class="full" x="{100 / _FULL:.1f}%" width="1" height="9"/>{diamond}</svg>'
    )
