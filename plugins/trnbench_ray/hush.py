"""What Ray says on its own account: its threads print to stdout, which is for data, and it logs."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from collections.abc import Iterator
from typing import Any, TextIO

from trnbench.errors import debugging


class _Aside:
    """stdout for the thread that made it; what other threads write is dropped, or goes to stderr where
    TRNBENCH_DEBUG asks for it."""

    def __init__(self, stream: TextIO, heard: bool) -> None:
        self._stream, self._heard, self._owner = stream, heard, threading.get_ident()

    def write(self, text: str) -> int:
        if threading.get_ident() == self._owner:
            return self._stream.write(text)
        return sys.stderr.write(text) if self._heard else len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def hushed() -> Iterator[None]:
    """Inside, only this thread writes to stdout, and Ray logs errors alone; TRNBENCH_DEBUG lets it speak."""
    heard = debugging()
    logger = logging.getLogger("ray")
    before = logger.level
    if not heard:
        logger.setLevel(logging.ERROR)
    aside: Any = _Aside(sys.stdout, heard)
    try:
        with contextlib.redirect_stdout(aside):
            yield
    finally:
        logger.setLevel(before)
