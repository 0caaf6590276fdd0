"""One subject in several tables, in every format: what commands called `info` print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from trnbench.cli.output import Column, clean, emit, emit_json, paragraph, write

Row: TypeAlias = dict[str, object]
Section: TypeAlias = tuple[str, Sequence[Column | str], list[Row]]
"""Its key, the columns that a table shows of it, its rows."""


def emit_sections(about: Mapping[str, object], title: str, sections: Sequence[Section], format: str) -> None:
    """Print `sections` to stdout.

    - "json": an object of `about` and the rows of each section under its key;
    - "csv": a line for each value, with its section, the number of its row, and its key;
    - else `title`, and a table of each section that has rows.
    """
    if format == "json":
        emit_json({**about, **{key: rows for key, _, rows in sections}})
        return
    if format == "csv":
        values = [
            {"section": key, "row": number, "key": column, "value": value}
            for key, _, rows in sections
            for number, row in enumerate(rows)
            for column, value in row.items()
        ]
        emit(values, ("section", "row", "key", "value"), "csv")
        return
    if format == "md":
        write(clean(f"# {title}") + "\n\n")
    else:
        paragraph(f"{title}\n")
    for key, columns, rows in sections:
        if rows:
            emit(rows, columns, format, title=key.capitalize())
            write("\n")
