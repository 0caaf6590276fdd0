"""How commands print rows: a table for people, JSON, CSV or Markdown for everything else.

stdout carries the data alone; progress and messages go to stderr (`say`). What is printed may
come from plugins, files and stored runs, so nothing in it is trusted: control characters are made
visible, Markdown and spreadsheet formulas are defused.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO, TypeAlias

import click

from trnbench.terminal import VERBOSITY
from trnbench.terminal.cell import Column, Columns, clean, hostile, plain


def say(message: str, *, nl: bool = True, level: int | None = None) -> None:
    """A message for people, to stderr; a reader that went away is not an error.

    `level` 0 is silenced by -q, as a warning is; 1 shows with -v, 2 with -vv; None always shows.
    """
    context = click.get_current_context(silent=True)
    if message.startswith("warning: "):
        level = 0
    if level is not None and context and context.meta.get(VERBOSITY, 0) < level:
        return
    try:
        click.echo(clean(message, keep="\n\t"), err=True, nl=nl)
    except BrokenPipeError:
        abandon(sys.stderr)


def mention(message: str) -> None:
    """A message for people that -q silences."""
    say(message, level=0)


def emit(
    rows: Sequence[Mapping[str, object]],
    columns: Columns,
    format: str = "table",
    *,
    title: str = "",
    ruled: bool = True,
) -> Sequence[str]:
    """Print `rows` to stdout. Returned are the headings that a terminal had no room for.

    - "table": columns in order, aligned; on a terminal as many as it has room for (see `Column.keep`), and
      what is left out is named on stderr; `ruled` draws a line below the headings;
    - "json": an array of the whole rows, keys without a column included; NaN becomes null;
    - "csv": the columns under their keys, plain values;
    - "md": a Markdown table.

    A closed pipe ends the output quietly.
    """
    cols = [column if isinstance(column, Column) else Column(column) for column in columns]
    if format == "json":
        emit_json(rows)
        return ()
    from trnbench.terminal import table

    if format in ("csv", "md"):
        write(table.csv(rows, cols) if format == "csv" else table.markdown(rows, cols, title))
        return ()
    from trnbench.terminal.screen import suits_colours, width

    room = width()
    shown, left_out = table.text(rows, cols, title, width=room, styled=suits_colours(), ruled=ruled)
    write(shown)
    say_left_out(left_out)
    return left_out


def say_left_out(headings: Sequence[str]) -> None:
    """That the terminal has no room for these columns, and what shows them; nothing where there are none."""
    if headings:
        from trnbench.terminal import table
        from trnbench.terminal.screen import width

        text = f"columns not shown: {', '.join(headings)}; --format wide shows them"
        mention(table.wrapped(text, width()))


def paragraph(text: str, hang: int = 4) -> None:
    """Lines for people as part of a result, broken where the terminal has no room for them."""
    from trnbench.terminal import table
    from trnbench.terminal.screen import width

    room = width()
    write("".join(table.wrapped(line, room, hang) + "\n" for line in clean(text, keep="\n").split("\n")))


def emit_json(value: object) -> None:
    """Any value of mappings, sequences, records and scalars as strict, indented JSON."""
    import json

    from trnbench.terminal.screen import speaks_utf8

    text = json.dumps(plain(value), indent=2, ensure_ascii=not speaks_utf8(), allow_nan=False)
    # Raw C1 controls and bidirectional marks are legal in JSON, and still reach a terminal.
    write(
        hostile().sub(lambda m: m.group() if m.group() == "\n" else f"\\u{ord(m.group()):04x}", text) + "\n"
    )


def write(text: str) -> None:
    """`text` to stdout, at once; quietly nothing more once the reader has gone."""
    stream = sys.stdout
    try:
        try:
            stream.write(text)
        except UnicodeEncodeError:
            encoding = stream.encoding or "ascii"
            stream.write(text.encode(encoding, "replace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        abandon(stream)


def abandon(stream: TextIO) -> None:
    """Send what is left of `stream` nowhere, so that closing it at exit raises nothing."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError, AttributeError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


Row: TypeAlias = dict[str, object]
Section: TypeAlias = tuple[str, Columns, list[Row]]
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
