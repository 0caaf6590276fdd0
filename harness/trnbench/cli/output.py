"""How commands print rows: a table for people, JSON, CSV or Markdown for everything else.

stdout carries the data alone; progress and messages go to stderr (`say`). What is printed may
come from plugins, files and stored runs, so nothing in it is trusted: control characters are made
visible, rich markup is never interpreted, Markdown and spreadsheet formulas are defused.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

import click

from trnbench.cli.cell import Column, clean, hostile, plain
from trnbench.cli.formats import FORMATS

__all__ = [
    "FORMATS",
    "Column",
    "abandon",
    "clean",
    "emit",
    "emit_json",
    "format_option",
    "plain",
    "plain_format_option",
    "say",
    "use_rich",
    "write",
]


def _configured() -> str:
    from trnbench.cli.settings import load_settings

    return load_settings().format


format_option = click.option(
    "--format",
    "format",
    type=click.Choice(FORMATS),
    default=_configured,
    show_default="table, or as configured",
    help="How to print the result.",
)
"""`@format_option` gives a command the parameter `format`, ready for `emit`."""

plain_format_option = click.option(
    "--format",
    "format",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="How to print the result.",
)
"""The same without a look at the settings, for commands that must work when those are broken."""


def say(message: str, *, nl: bool = True, level: int | None = None) -> None:
    """A message for people, to stderr; a reader that went away is not an error.

    `level` 0 is silenced by -q, 1 shows with -v, 2 with -vv; None always shows.
    """
    context = click.get_current_context(silent=True)
    if level is not None and context and context.meta.get("trnbench.verbosity", 0) < level:
        return
    try:
        click.echo(clean(message, keep="\n\t"), err=True, nl=nl)
    except BrokenPipeError:
        abandon(sys.stderr)


def emit(
    rows: Sequence[Mapping[str, object]],
    columns: Sequence[Column | str],
    format: str = "table",
    *,
    title: str = "",
) -> None:
    """Print `rows` to stdout.

    - "table": columns in order; rich on a terminal, plain aligned text otherwise;
    - "json": an array of the whole rows, keys without a column included; NaN becomes null;
    - "csv": the columns under their keys, plain values;
    - "md": a Markdown table.

    A closed pipe ends the output quietly.
    """
    cols = [each if isinstance(each, Column) else Column(each) for each in columns]
    if format == "json":
        emit_json(rows)
        return
    from trnbench.cli import table

    if format == "csv":
        write(table.csv(rows, cols))
    elif format == "md":
        write(table.markdown(rows, cols, title))
    elif use_rich():
        write(table.boxed(rows, cols, title))
    else:
        write(table.plain_text(rows, cols, title))


def emit_json(value: object) -> None:
    """Any value of mappings, sequences, records and scalars as strict, indented JSON."""
    import json

    utf8 = (getattr(sys.stdout, "encoding", "") or "").lower().replace("-", "") == "utf8"
    text = json.dumps(plain(value), indent=2, ensure_ascii=not utf8, allow_nan=False)
    # Raw C1 controls and bidirectional marks are legal in JSON, and still reach a terminal.
    write(
        hostile().sub(lambda m: m.group() if m.group() == "\n" else f"\\u{ord(m.group()):04x}", text) + "\n"
    )


def use_rich(stream: TextIO | None = None) -> bool:
    """Whether boxes and colours suit `stream` (stdout unless given).

    `--color/--no-color` decides first, then NO_COLOR, FORCE_COLOR, TERM=dumb, then whether it is a
    terminal at all.
    """
    stream = stream or sys.stdout
    context = click.get_current_context(silent=True)
    chosen = context.color if context else None
    if chosen is not None:
        return chosen
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    if os.environ.get("TERM") == "dumb":
        return False
    return bool(getattr(stream, "isatty", lambda: False)())


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
