"""The terminal that results go to: whether it shows colours, and how wide it is."""

from __future__ import annotations

import os
import sys
from typing import TextIO

import click

from trnbench.isolation.output import columns_named, columns_of
from trnbench.terminal import WIDE

LEAST = 40
"""Columns that are filled however few there are."""


def width() -> int | None:
    """Columns that a line on stdout may take; None for as many as it needs.

    A terminal has its own. A file or pipe takes lines of any length, unless colours are asked for: it is then
    taken for a pager, on the terminal of stderr.
    """
    context = click.get_current_context(silent=True)
    if context and context.meta.get(WIDE):
        return None
    found = columns_of(sys.stdout)
    if found is None and suits_colours():
        found = columns_named() or columns_of(sys.stderr)
    return None if found is None else max(found, LEAST)


def suits_colours(stream: TextIO | None = None) -> bool:
    """Whether colours suit `stream` (stdout unless given).

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


def speaks_utf8() -> bool:
    """Whether stdout takes every character."""
    return (getattr(sys.stdout, "encoding", "") or "").lower().replace("-", "") == "utf8"
