"""Rows as a table that other programs read: CSV, Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from trnbench.cli.cell import Column, clean, is_right, plain, text_of

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
