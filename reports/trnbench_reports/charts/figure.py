"""A chart, its plane, and what must stand beside it: a title that says something, a legend, the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from markupsafe import Markup, escape

from trnbench import Record
from trnbench_reports import numbers
from trnbench_reports.template import fill

SYMBOLS = "●■▲◆✚▼▶"
"""Of the shapes of marks, in their order (shapes.html.j2)."""
PUBLISHED = SYMBOLS.index("◆")
"""Of the marks of what is published; what a run has gets the others."""
OWN = tuple(place for place in range(len(SYMBOLS)) if place != PUBLISHED)
OTHERS = (3, 4, 5, 6, 7, 8)
"""Colours of what is no generation: those keep theirs through the whole page."""


class Series(Record, kw_only=True):
    """What one legend entry dims or shows: the marks that carry its index. `colour` is a generation's number,
    or the name of a cause."""

    index: int
    name: str
    symbol: str = "●"
    colour: int | str | None = None


class Figure(Record, kw_only=True):
    """`columns` and `rows` are the table beneath; a row is (case anchor or "", cells)."""

    id: str
    title: str
    drawing: Markup
    caption: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, tuple[str, ...]], ...] = ()
    series: tuple[Series, ...] = ()


def show(figure: Figure) -> Markup:
    """Title, drawing, legend, and the table under a disclosure."""
    return fill("figure", figure=figure)


class Scale(Record, kw_only=True):
    """Values from `low` to `high`; `ticks` are (value, label). `rows`: each tick is a thing, not a value."""

    title: str
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    logarithmic: bool = False
    rows: bool = False

    def share(self, value: float) -> float:
        """0 at `low`, 1 at `high`; beyond them below 0 and above 1."""
        if self.logarithmic:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def logarithmic(
    title: str, low: float, high: float, unit: str = "", *, base: int = 10, most: int = 8
) -> Scale:
    """A tick for each decade, or for each few powers of `base`: at most about `most`.

    `low` and `high` are positive and differ.
    """
    first, last = math.ceil(math.log(low, base) - 1e-9), math.floor(math.log(high, base) + 1e-9)
    step = max(1, math.ceil((last - first + 1) / most))
    values = [float(base) ** power for power in range(first, last + 1, step)]
    if base == 10 and len(values) < 3:
        finer = (times * 10.0**power for power in range(first - 1, last + 1) for times in (1, 2, 5))
        values = [value for value in finer if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
    return Scale(
        title=title,
        low=low,
        high=high,
        ticks=tuple((value, numbers.show(value, unit).replace(numbers.NBSP, " ")) for value in values),
        logarithmic=True,
    )


def linear(title: str, low: float, high: float, ticks: Sequence[tuple[float, str]]) -> Scale:
    """Even steps; the ticks as given."""
    return Scale(title=title, low=low, high=high, ticks=tuple(ticks))


def row_scale(found: Sequence[str]) -> Scale:
    """A row for each name, from top to bottom; row i has its middle at i + 0.5."""
    ticks = tuple((i + 0.5, name) for i, name in enumerate(found))
    return Scale(title="", low=len(found), high=0, ticks=ticks, rows=True)


LETTER = 7.2
"""Pixels of a letter at 12 pixels, in the widest of the fonts that a page may get."""
_TOP, _RIGHT, _BOTTOM = 6, 8, 40
_LINE = 1.2  # what the frame says of its lines, unless they say otherwise
_NAMES = 230  # the widest that names of rows may stand

Point = tuple[float, float]


class Plane:
    """`width` and `height` in pixels of the frame between the axes. Every place is given in values."""

    def __init__(self, x: Scale, y: Scale, *, width: int = 400, height: int = 240) -> None:
        self.x, self.y, self.width, self.height = x, y, width, height
        widest = max((len(label) for _, label in y.ticks), default=0)
        self.left = min(round(widest * LETTER), _NAMES) + (14 if y.rows else 8) + (18 if y.title else 0)
        self._inside: list[tuple[str, str]] = []  # (colour of the group or "", element)
        self._outside: list[str] = []

    def px(self, value: float) -> float:
        return self.width * self.x.share(value)

    def py(self, value: float) -> float:
        return self.height * (1 - self.y.share(value))

    def line(
        self,
        points: Sequence[Point],
        *,
        colour: str = "currentColor",
        width: float = _LINE,
        dash: str = "",
        opacity: float = 1,
        series: int | None = None,
        round_ends: bool = False,
    ) -> None:
        """What lies outside the frame is cut off."""
        more = f' stroke-width="{width:g}"' if width != _LINE else ""
        more += f' stroke-dasharray="{dash}"' if dash else ""
        more += f' stroke-opacity="{opacity:g}"' if opacity != 1 else ""
        more += ' stroke-linecap="round"' if round_ends else ""
        more += f' data-s="{series}"' if series is not None else ""
        drawn = f'd="{self._path(points)}" stroke="{colour}"'
        self._inside.append(("", f'<path class="line" {drawn}{more}/>'))

    def area(self, points: Sequence[Point], *, opacity: float) -> None:
        drawn = f'd="{self._path(points)}Z" fill="currentColor" fill-opacity="{opacity:g}"'
        self._inside.append(("", f"<path {drawn}/>"))

    def mark(
        self, x: float, y: float, *, colour: str, says: str, anchor: str = "", series: int = 0, shape: int = 0
    ) -> None:
        """A point that the pointer and the arrow keys find; `anchor` is the row it leads to."""
        name = f"k{shape % len(SYMBOLS)}"
        position = f'x="{_n(self.px(x))}" y="{_n(self.py(y))}"'
        self._inside.append((colour, f'<use href="#{name}" {position}{_data(anchor, series, says)}</use>'))

    def bar(
        self,
        start: float,
        end: float,
        row: float,
        *,
        thick: float,
        colour: str,
        says: str,
        anchor: str,
        series: int,
    ) -> None:
        """A bar along x, `thick` pixels high, around `row`."""
        a, b = sorted((self.px(start), self.px(end)))
        box = f'x="{_n(a)}" y="{_n(self.py(row) - thick / 2)}" width="{_n(b - a)}" height="{_n(thick)}"'
        self._inside.append((colour, f"<rect {box}{_data(anchor, series, says)}</rect>"))

    def words(
        self,
        x: float,
        y: float,
        text: str,
        *,
        dx: float = 0,
        dy: float = 0,
        anchor: str = "start",
        bold: bool = False,
        turn: float = 0,
    ) -> None:
        """Small text; `dx` and `dy` in pixels, `turn` in degrees around its place."""
        left, top = self.px(x) + dx, self.py(y) + dy
        more = f' text-anchor="{anchor}"' if anchor != "start" else ""
        more += ' font-weight="600"' if bold else ""
        position = f'x="{_n(left)}" y="{_n(top)}"'
        if turn:
            position = f'transform="translate({_n(left)} {_n(top)}) rotate({_n(turn)})"'
        self._outside.append(f'<text class="l" {position}{more}>{_escaped(text)}</text>')

    def svg(self, label: str) -> Markup:
        """The drawing; `label` is what a screen reader says of it."""
        wide, high = self.size
        inner = f'x="{self.left}" y="{_TOP}" width="{self.width}" height="{self.height}"'
        place = f'transform="translate({self.left} {_TOP})"'
        return Markup(
            f'<svg viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" class="chart" role="img"'
            f' tabindex="0" aria-label="{_escaped(label)}"><g {place}>{self._axes()}</g>'
            f'<svg {inner} stroke-width="{_LINE}">{self._grouped()}</svg>'
            f"<g {place}>{''.join(self._outside)}</g></svg>"
        )

    @property
    def size(self) -> tuple[int, int]:
        """With all that stands around the frame."""
        return self.left + self.width + _RIGHT, _TOP + self.height + _BOTTOM

    def _path(self, points: Sequence[Point]) -> str:
        return "M" + "L".join(f"{_n(self.px(x))} {_n(self.py(y))}" for x, y in points)

    def _grouped(self) -> str:
        """Neighbours of one colour share a group that says it once."""
        groups = []
        for colour, found in groupby(self._inside, key=lambda each: each[0]):
            text = "".join(element for _, element in found)
            groups.append(f'<g class="marks" fill="{colour}">{text}</g>' if colour else text)
        return "".join(groups)

    def _axes(self) -> str:
        w, h = self.width, self.height
        xs = [(self.px(value), label) for value, label in self.x.ticks]
        ys = [(self.py(value), label) for value, label in self.y.ticks]
        across = [] if self.y.rows else [f"M0 {_n(y)}H{w}" for y, _ in ys]
        grid = "".join([*(f"M{_n(x)} 0V{h}" for x, _ in xs), *across])
        below = "".join(
            f'<text x="{_n(x)}" y="{h + 15}">{_escaped(text)}</text>' for x, text in self._apart(xs)
        )
        beside = "".join(f'<text x="-6" y="{_n(y + 4)}">{_escaped(text)}</text>' for y, text in ys)
        rows = ' class="rows"' if self.y.rows else ""
        title = f'<text x="{_n(w / 2)}" y="{h + 33}">{_escaped(self.x.title)}</text>'
        if self.y.title:
            position = f"translate({10 - self.left} {_n(h / 2)}) rotate(-90)"
            title += f'<text transform="{position}">{_escaped(self.y.title)}</text>'
        return (
            f'<path class="grid" d="{grid}"/><path class="axis" d="M0 0V{h}H{w}"/>'
            f'<g text-anchor="middle">{below}{title}</g><g text-anchor="end"{rows}>{beside}</g>'
        )

    def _apart(self, ticks: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
        """As many of the labels as stand beside each other without touching."""
        widest = max((len(text) for _, text in ticks), default=0) * LETTER + 6
        gap = abs(ticks[1][0] - ticks[0][0]) if len(ticks) > 1 else widest
        return list(ticks[:: max(1, math.ceil(widest / max(gap, 1)))])


def _data(anchor: str, series: int, says: str) -> str:
    row = f' data-id="{anchor}"' if anchor else ""
    return f'{row} data-s="{series}"><title>{_escaped(says)}</title>'


def _escaped(text: str) -> str:
    return str(escape(numbers.clean(text, 300)))


def _n(value: float) -> str:
    """A tenth of a pixel will do."""
    return f"{value:.1f}".removesuffix(".0")
