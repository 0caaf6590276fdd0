"""Rows as a table: aligned text, boxes, CSV, Markdown."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

from trnbench.cli.cell import Column, clean, is_right, plain, text_of, width_of

_MARKDOWN = re.compile(r"([\\`*\[\]<>|~])")


def plain_text(rows: Sequence[Mapping[str, object]], columns: Sequence[Column], title: str) -> str:
    """Aligned by blanks, for any terminal and for pipes."""
    head, *body = zip(*(_aligned(rows, column) for column in columns), strict=True)
    lines = [clean(title)] if title else []
    lines += ["  ".join(head).rstrip(), "  ".join("-" * width_of(cell) for cell in head)]
    lines += ["  ".join(cells).rstrip() for cells in body]
    return "\n".join(lines) + "\n"


def _aligned(rows: Sequence[Mapping[str, object]], column: Column) -> Iterator[str]:
    """The heading and every cell below it, as wide as the widest of them."""
    cells = [clean(column.heading), *[text_of(row.get(column.key), column) for row in rows]]
    widths = list(map(width_of, cells))
    widest = max(widths)
    justified = str.rjust if is_right(rows, column) else str.ljust
    for cell, width in zip(cells, widths, strict=True):
        yield justified(cell, widest - width + len(cell))


def boxed(rows: Sequence[Mapping[str, object]], columns: Sequence[Column], title: str) -> str:
    """For a terminal that shows boxes and colours, by rich."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Text, not str: what a cell holds is shown, never read as markup.
    table = Table(title=Text(clean(title)) if title else None, title_justify="left", box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(
            Text(clean(column.heading)),
            justify="right" if is_right(rows, column) else "left",
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(text_of(row.get(column.key), column)) for column in columns))
    console = Console(file=sys.stdout, force_terminal=True, highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        console.print(table)
    return captured.get()


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
    return _MARKDOWN.sub(r"\\\1", text)


def markdown(rows: Sequence[Mapping[str, object]], columns: Sequence[Column], title: str) -> str:
    """A Markdown table; what Markdown would read as markup is escaped."""

    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cells)} |"

    lines = [f"**{escaped(clean(title))}**", ""] if title else []
    lines.append(line(escaped(clean(column.heading)) for column in columns))
    lines.append(line("---:" if is_right(rows, column) else "---" for column in columns))
    lines += [line(escaped(text_of(row.get(column.key), column)) for column in columns) for row in rows]
    return "\n".join(lines) + "\n"
