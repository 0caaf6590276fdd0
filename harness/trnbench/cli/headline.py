"""The headline of a run on stdout: the lines that its report begins with, word for word."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

import click

from trnbench.cli.output import clean, write
from trnbench.cli.terminal import suits_colours, width

if TYPE_CHECKING:
    from trnbench.results.run import Run

WIDTH = 100
"""Columns where no terminal says how many it has."""
NBSP = "\u00a0"


def show_headline(run: Run, format: str) -> None:
    """Lines for people, or a list in Markdown; tables of data (JSON, CSV) are left alone.

    What has no band is grey where colours suit, and says so in words everywhere.
    """
    if format not in ("table", "md"):
        return
    from trnbench.run.headline.lines import headline

    found = headline(run)
    shades = format == "table" and suits_colours()
    lines = [_item(said.text, format, grey=shades and line.muted) for line, said in found.said]
    told = [*(f"{system}: {bad}" for system, bad in found.alarms), found.silence, found.footnote, found.means]
    lines += [_item(each, format) for each in told if each]
    write("\n" + "\n".join(lines) + "\n")


def _item(text: str, format: str, *, grey: bool = False) -> str:
    text = clean(text)
    if format == "md":
        from trnbench.cli.table import escaped

        return f"- {escaped(text)}"
    # A number and its unit stay together.
    bound = re.sub(r"(?<=\d) (?=[%A-Za-zµ])", NBSP, text)
    filled = textwrap.fill(
        bound, (width() or WIDTH) - 1, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
    )
    wrapped = filled.replace(NBSP, " ")
    return click.style(wrapped, fg="bright_black") if grey else wrapped


def headline_record(run: Run) -> dict[str, object]:
    """The same as data: each line's values, with its words as `text`."""
    import msgspec

    from trnbench.run.headline.lines import headline

    found = headline(run)
    lines = [{"text": said.text, **msgspec.to_builtins(line)} for line, said in found.said]
    return {**msgspec.to_builtins(found), "lines": lines}
