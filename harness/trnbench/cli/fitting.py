"""Which columns of a table a terminal has room for, and how wide each becomes.

Sentences are broken at their blanks first. Then columns are left out, the least wanted first. What has no
blank (an id, a path, a command's argument) and what is a number is never broken, so that it can be copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from trnbench.cli.cell import width_of

GAP = 2
"""Blanks between columns."""
INDENT = 4
"""Blanks before the other columns where the first one has a line of its own."""
SENTENCE = 20
"""A column of sentences is left out rather than made narrower than this."""
FEW = 3
"""Columns; with fewer beside it, a long first one gets a line of its own."""


class Fit(msgspec.Struct, frozen=True):
    """Indices of the columns shown and the width of each; with `apart` the first has a line of its own."""

    shown: tuple[int, ...]
    widths: tuple[int, ...]
    apart: bool = False


class Extent(msgspec.Struct, frozen=True):
    """What one column takes: all of it on one line, and at least; the higher `keep`, the longer it stays."""

    whole: int
    least: int
    keep: int = 0


def extent(head: str, cells: Iterable[str], *, number: bool, keep: int = 0) -> Extent:
    """Of a column with these cells. A heading may be broken at its blanks, a number not."""
    cells = set(cells)
    body = max(map(width_of, cells), default=0)
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
    if lost and (wanted or len(rest) + 1 < FEW):
        below = _shown(extents, range(1, len(extents)), width - INDENT)
        if len(below) > len(rest):
            first = min(extents[0].whole, max(extents[0].least, width))
            return Fit((0, *below), (first, *_widths(extents, below, width - INDENT)), apart=True)
    return Fit(tuple(beside), _widths(extents, beside, width))


def broken(text: str, width: int) -> list[str]:
    """Lines of at most `width`, broken at blanks; a longer word has a line of its own."""
    if len(text) <= width if text.isascii() else width_of(text) <= width:
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
            if not left:
                break
    return tuple(widths[at] for at in shown)
