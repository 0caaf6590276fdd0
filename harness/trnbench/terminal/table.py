"""Rows as a table: aligned for people, in lines that fit the terminal; CSV and Markdown for programs.

Sentences are broken at their blanks first. Then columns are left out, the least wanted first. What has no
blank (an id, a path, a command's argument) and what is a number is never broken, so that it can be copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

import click

from trnbench.terminal.cell import Column, clean, is_right, plain, text_of, width_of
from trnbench.terminal.screen import speaks_utf8

_MARKDOWN = r"([\\`*\[\]<>|~])"


def csv(rows: Sequence[Mapping[str, object]], columns: Sequence[Column]) -> str:
    """The columns under their keys, plain values; what a spreadsheet would run as a formula is defused."""
    import io
    from csv import writer as writes

    buffer = io.StringIO()
    writer = writes(buffer, lineterminator="\n")
    writer.writerow([column.key for column in columns])
    writer.writerows([_csv_cell(row.get(column.key)) for column in columns] for row in rows)
    return buffer.getvalue()


def _csv_cell(value: object) -> str:
    value = plain(value)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | dict):
        import json

        value = "; ".join(map(str, value)) if isinstance(value, list) else json.dumps(value)
    text = clean(str(value), keep="\n\t")
    # A spreadsheet would run a text that starts like this as a formula.
    return "'" + text if len(text) > 1 and text[0] in "=+-@\t" else text


def escaped(text: str) -> str:
    """What Markdown would read as markup, shown instead."""
    return re.sub(_MARKDOWN, r"\\\1", text)


def markdown(rows: Sequence[Mapping[str, object]], columns: Sequence[Column], title: str) -> str:
    """A Markdown table; what Markdown would read as markup is escaped."""

    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cells)} |"

    lines = [f"**{escaped(clean(title))}**", ""] if title else []
    lines.append(line(escaped(clean(column.heading)) for column in columns))
    lines.append(line("---:" if is_right(rows, column) else "---" for column in columns))
    lines += [line(escaped(text_of(row.get(column.key), column)) for column in columns) for row in rows]
    return "\n".join(lines) + "\n"


GAP = 2
"""Blanks between columns."""
INDENT = 4
"""Blanks before the other columns where the first one has a line of its own."""
SENTENCE = 20
"""A column of sentences is left out rather than made narrower than this."""
FEW = 2
"""Columns; with fewer beside it, a long first one gets a line of its own."""


class Fit(NamedTuple):
    """Indices of the columns shown and the width of each; with `apart` the first has a line of its own."""

    shown: tuple[int, ...]
    widths: tuple[int, ...]
    apart: bool = False


class Extent(NamedTuple):
    """What one column takes: all of it on one line, and at least; the higher `keep`, the longer it stays."""

    whole: int
    least: int
    keep: int = 0


def extent(head: str, cells: Iterable[str], *, number: bool, keep: int = 0) -> Extent:
    """Of a column with these cells. A heading may be broken at its blanks, a number not."""
    cells = {"", *cells}
    body = max(map(width_of, cells))
    whole = max(body, width_of(head))
    if number:
        return Extent(whole, max(body, _longest(head)), keep)
    words = set().union(*map(str.split, cells))
    return Extent(whole, max(_longest(head), min(body, SENTENCE), *map(width_of, words)), keep)


def fit(extents: Sequence[Extent], width: int) -> Fit:
    """The columns that `width` has room for. The first stays; of those equally wanted the last goes first."""
    beside = _shown(extents, range(len(extents)), width)
    rest = [index for index in beside if index]
    lost = [index for index in range(1, len(extents)) if index not in beside]
    wanted = any(extents[index].keep > 0 for index in lost)
    if lost and (wanted or len(rest) < FEW):
        below = _shown(extents, range(1, len(extents)), width - INDENT)
        if len(below) > len(rest):
            return Fit((0, *below), (width, *_widths(extents, below, width - INDENT)), apart=True)
    return Fit(tuple(beside), _widths(extents, beside, width))


def broken(text: str, width: int) -> list[str]:
    """Lines of at most `width`, broken at blanks; a longer word has a line of its own."""
    if width_of(text) <= width:
        return [text]
    lines: list[str] = []
    for word in text.split():
        if lines and width_of(lines[-1]) + 1 + width_of(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _longest(text: str) -> int:
    return max(map(width_of, text.split()), default=0)


def _shown(extents: Sequence[Extent], columns: Sequence[int], width: int) -> list[int]:
    """Without those that have no room; one always stays."""
    shown = list(columns)
    while len(shown) > 1 and sum(extents[at].least for at in shown) + GAP * (len(shown) - 1) > width:
        leaves = [at for at in shown if at]
        shown.remove(min(leaves, key=lambda at: (extents[at].keep, -at)))
    return shown


def _widths(extents: Sequence[Extent], shown: Sequence[int], width: int) -> tuple[int, ...]:
    """What is left beyond the least goes to those that would be broken, in equal parts."""
    widths = {at: extents[at].least for at in shown}
    left = width - sum(widths.values()) - GAP * (len(shown) - 1)
    while left > 0 and (short := [at for at in shown if widths[at] < extents[at].whole]):
        for at in short:
            more = min(max(left // len(short), 1), extents[at].whole - widths[at], left)
            widths[at] += more
            left -= more
    return tuple(widths[at] for at in shown)


EMPTY = -99
"""`keep` of a column that says nothing of any row."""


def text(
    rows: Sequence[Mapping[str, object]],
    columns: Sequence[Column],
    title: str,
    *,
    width: int | None = None,
    styled: bool = False,
    ruled: bool = True,
) -> tuple[str, list[str]]:
    """The table in lines of `width`, and the headings of columns that have no room; None: all, in long lines.

    `styled` makes headings bold, for a terminal; `ruled` draws a line below them.
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
    lines = [*top, " " * (INDENT * fitted.apart) + (" " * GAP).join(rules)] if ruled else top
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
    width -= width_of(cell) - len(cell)
    return cell.rjust(width) if at_right else cell.ljust(width)
