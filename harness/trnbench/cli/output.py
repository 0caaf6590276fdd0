"""How commands print rows: a table for people, JSON, CSV or Markdown for everything else.

stdout carries the data alone; progress and messages go to stderr (`say`). What is printed may
come from plugins, files and stored runs, so nothing in it is trusted: control characters are made
visible, rich markup is never interpreted, Markdown and spreadsheet formulas are defused.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple, TextIO

import click

FORMATS = ("table", "json", "csv", "md")


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

# C0 and C1 controls, bidirectional overrides, line separators, lone surrogates, byte order mark.
_HOSTILE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
_MARKDOWN = re.compile(r"([\\`*\[\]<>|~])")


class Column(NamedTuple):
    """`key` of the row, `title` for people, `show` to format a value in tables and Markdown.

    `align` is "left", "right" or "" (right where every value is a number). CSV and JSON ignore
    `show`: machines get the plain value.
    """

    key: str
    title: str = ""
    align: str = ""
    show: Callable[[Any], str] | None = None

    @property
    def heading(self) -> str:
        return self.title or self.key.replace("_", " ")


def clean(text: str, *, keep: str = "") -> str:
    """`text` with control characters, other than those in `keep`, written as visible escapes."""

    def visible(match: re.Match[str]) -> str:
        char = match.group()
        return char if char in keep else char.encode("unicode_escape").decode("ascii")

    return _HOSTILE.sub(visible, text)


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
    elif format == "csv":
        write(_csv(rows, cols))
    elif format == "md":
        write(_markdown(rows, cols, title))
    elif use_rich():
        _rich(rows, cols, title)
    else:
        write(_plain_table(rows, cols, title))


def emit_json(value: object) -> None:
    """Any value of mappings, sequences, records and scalars as strict, indented JSON."""
    import json

    utf8 = (getattr(sys.stdout, "encoding", "") or "").lower().replace("-", "") == "utf8"
    text = json.dumps(plain(value), indent=2, ensure_ascii=not utf8, allow_nan=False)
    # Raw C1 controls and bidirectional marks are legal in JSON, and still reach a terminal.
    write(_HOSTILE.sub(lambda m: m.group() if m.group() == "\n" else f"\\u{ord(m.group()):04x}", text) + "\n")


def plain(value: object) -> object:
    """`value` as JSON has it: records to objects, enums to their value, NaN and infinities to None."""
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list | set | frozenset):
        each_plain = [plain(each) for each in value]
        return sorted(each_plain, key=str) if isinstance(value, set | frozenset) else each_plain
    if fields := getattr(value, "__struct_fields__", None):
        return {name: plain(getattr(value, name)) for name in fields}
    return str(value)


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


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool | Enum)


def _right(rows: Sequence[Mapping[str, object]], column: Column) -> bool:
    if column.align:
        return column.align == "right"
    present = [row[column.key] for row in rows if row.get(column.key) is not None]
    return bool(present) and all(_number(each) for each in present)


def _text(value: object, column: Column) -> str:
    """A cell for people."""
    if value is None:
        return "–"
    if column.show is not None:
        return clean(column.show(value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, tuple | list):
        return clean(", ".join(str(each) for each in value))
    return clean(str(value))


def _width(text: str) -> int:
    """Terminal cells: wide East Asian characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def _plain_table(rows: Sequence[Mapping[str, object]], columns: Sequence[Column], title: str) -> str:
    heads = [clean(column.heading) for column in columns]
    body = [[_text(row.get(column.key), column) for column in columns] for row in rows]
    right = [_right(rows, column) for column in columns]
    widths = [max(map(_width, (head, *cells))) for head, cells in _columns(heads, body)]

    def line(cells: Iterable[str]) -> str:
        padded = (
            " " * (width - _width(cell)) + cell if is_right else cell + " " * (width - _width(cell))
            for cell, width, is_right in zip(cells, widths, right, strict=True)
        )
        return "  ".join(padded).rstrip()

    lines = [clean(title)] if title else []
    lines += [line(heads), "  ".join("-" * width for width in widths), *map(line, body)]
    return "\n".join(lines) + "\n"


def _columns(heads: Sequence[str], body: Sequence[Sequence[str]]) -> Iterable[tuple[str, list[str]]]:
    for index, head in enumerate(heads):
        yield head, [row[index] for row in body]


def _rich(rows: Sequence[Mapping[str, object]], columns: Sequence[Column], title: str) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Text, not str: what a cell holds is shown, never read as markup.
    table = Table(title=Text(clean(title)) if title else None, title_justify="left", box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(
            Text(clean(column.heading)),
            justify="right" if _right(rows, column) else "left",
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(_text(row.get(column.key), column)) for column in columns))
    console = Console(file=sys.stdout, force_terminal=True, highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        console.print(table)
    write(captured.get())


def _csv(rows: Sequence[Mapping[str, object]], columns: Sequence[Column]) -> str:
    import csv
    import io

    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
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


def _markdown(rows: Sequence[Mapping[str, object]], columns: Sequence[Column], title: str) -> str:
    def escape(text: str) -> str:
        return _MARKDOWN.sub(r"\\\1", text)

    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cells)} |"

    lines = [f"**{escape(clean(title))}**", ""] if title else []
    lines.append(line(escape(clean(column.heading)) for column in columns))
    lines.append(line("---:" if _right(rows, column) else "---" for column in columns))
    lines += [line(escape(_text(row.get(column.key), column)) for column in columns) for row in rows]
    return "\n".join(lines) + "\n"
