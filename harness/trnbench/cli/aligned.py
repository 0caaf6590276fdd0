"""Rows as a table for people: aligned by blanks, in lines that the terminal has room for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

import click

from trnbench.cli.cell import Column, clean, is_right, text_of, width_of
from trnbench.cli.fitting import GAP, INDENT, Fit, broken, extent, fit
from trnbench.cli.terminal import speaks_utf8

EMPTY = -99
"""`keep` of a column that says nothing of any row."""


def text(
    rows: Sequence[Mapping[str, object]],
    columns: Sequence[Column],
    title: str,
    *,
    width: int | None = None,
    styled: bool = False,
) -> tuple[str, list[str]]:
    """The table in lines of `width`, and the headings of columns that have no room; None: all, in long lines.

    `styled` makes headings bold, for a terminal.
    """
    heads = [clean(column.heading) for column in columns]
    cells = [[text_of(row.get(column.key), column) for column in columns] for row in rows]
    right = [is_right(rows, column) for column in columns]
    told = [any(row.get(column.key) not in (None, "") for row in rows) for column in columns]
    extents = [
        extent(head, [row[at] for row in cells], number=right[at], keep=column.keep if told[at] else EMPTY)
        for at, (head, column) in enumerate(zip(heads, columns, strict=True))
    ]
    room = sum(each.whole + GAP for each in extents) if width is None else width
    fitted = fit(extents, room)
    rule = "─" if styled and speaks_utf8() else "-"
    rules = [rule * own for own in fitted.widths[fitted.apart :]]
    above = broken(clean(title), width or width_of(clean(title))) if title else []
    top = [*above, *_lines(heads, fitted, right, low=True)]
    if styled:
        top = [click.style(line, bold=True) for line in top]
    lines = [*top, " " * (INDENT * fitted.apart) + (" " * GAP).join(rules)]
    if not fitted.apart and all(
        own >= extents[at].whole for at, own in zip(fitted.shown, fitted.widths, strict=True)
    ):
        aligned = [right[at] for at in fitted.shown]
        lines += [_line([row[at] for at in fitted.shown], fitted.widths, aligned) for row in cells]
    else:
        for row in cells:
            lines += _lines(row, fitted, right)
    return "\n".join(lines) + "\n", [head for at, head in enumerate(heads) if at not in fitted.shown]


def wrapped(text: str, width: int | None, hang: int = INDENT) -> str:
    """`text` in lines of `width`, later ones `hang` blanks further to the right; None: in one."""
    if width is None or width_of(text) <= width:
        return text
    lead = " " * (len(text) - len(text.lstrip()))
    first, *rest = broken(text, width - len(lead) - hang)
    return "\n".join([lead + first, *(lead + " " * hang + line for line in rest)])


def _lines(row: Sequence[str], found: Fit, right: Sequence[bool], *, low: bool = False) -> list[str]:
    """One row: as many lines as its most broken cell has; `low`: shorter cells end with it."""
    parts = [broken(row[at], own) for at, own in zip(found.shown, found.widths, strict=True)]
    if low:
        most = max(map(len, parts[found.apart :]), default=0)
        parts[found.apart :] = [[""] * (most - len(part)) + part for part in parts[found.apart :]]
    if not found.apart:
        return _beside(parts, found.widths, [right[at] for at in found.shown])
    beside = _beside(parts[1:], found.widths[1:], [right[at] for at in found.shown[1:]])
    return [*parts[0], *(" " * INDENT + line for line in beside)]


def _beside(parts: Sequence[Sequence[str]], widths: Sequence[int], right: Sequence[bool]) -> list[str]:
    return [_line(line, widths, right) for line in zip_longest(*parts, fillvalue="")]


def _line(cells: Iterable[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    return (" " * GAP).join(map(_padded, cells, widths, right)).rstrip()


def _padded(cell: str, width: int, at_right: bool) -> str:
    if not cell.isascii():
        width -= width_of(cell) - len(cell)
    return cell.rjust(width) if at_right else cell.ljust(width)
