"""A chart with what must stand beside it: a title that says something, a legend, the same numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
OTHERS = (3, 4, 5, 6, 7, 8)
"""Colours of what is no generation: those keep theirs through the whole page."""
SYMBOLS = dict(zip(SHAPES, "●■▲◆✚▼▶", strict=True))


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """What one legend entry dims or shows: the marks that carry its index. `colour` is a generation's number,
    or the name of a cause."""

    index: int
    name: str
    symbol: str = "●"
    colour: int | str | None = None


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """`columns` and `rows` are the table beneath; a row is (case anchor or "", cells)."""

    id: str
    title: str
    label: str
    drawing: Markup
    caption: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, tuple[str, ...]], ...] = ()
    series: tuple[Series, ...] = ()
    attributes: str = ""
    lines: tuple[tuple[str, str], ...] = ()  # dash, what it means


def show(figure: Figure) -> Markup:
    """Title, drawing, legend, and the table under a disclosure."""
    return fill("figure", figure=figure)
