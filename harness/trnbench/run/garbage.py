"""Python's search for cycles of garbage, held back while a model makes millions of small objects."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

RARELY = (200_000, 50, 100)
"""New objects before the youngest are searched, and the rounds before the older ones are: a default run
took a tenth less processor time with these than with Python's own."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """The thresholds are the process's: they are what they were when this ends."""
    before = gc.get_threshold()
    gc.set_threshold(*RARELY)
    try:
        yield
    finally:
        gc.set_threshold(*before)
