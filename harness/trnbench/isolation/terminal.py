"""How wide the terminal behind a stream is."""

from __future__ import annotations

import os
from typing import TextIO

USUAL = 80
"""Columns of a terminal that does not say how many it has."""


def columns_of(stream: TextIO) -> int | None:
    """Of the terminal that `stream` writes to, COLUMNS before what it says itself; None where it is none."""
    try:
        if not stream.isatty():
            return None
    except (AttributeError, ValueError):
        return None
    told = os.environ.get("COLUMNS", "")
    if told.isascii() and told.isdigit() and 0 < len(told) < 6:
        return int(told) or USUAL
    try:
        return os.get_terminal_size(stream.fileno()).columns or USUAL
    except (OSError, ValueError, AttributeError):
        return USUAL
