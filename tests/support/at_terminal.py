"""A command at a terminal of some width: what it shows there, line by line."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import sys
import termios
import threading
from collections.abc import Sequence
from typing import NamedTuple
from unittest.mock import patch

from trnbench.cli.main import cli
from trnbench.terminal.cell import width_of
from trnbench.terminal.context import Session

STYLE = re.compile(r"\x1b\[[0-9;]*m")


class Shown(NamedTuple):
    code: int
    text: str  # as the terminal got it

    @property
    def lines(self) -> list[str]:
        """Without what makes them bold or grey."""
        return STYLE.sub("", self.text).splitlines()

    def wider_than(self, columns: int) -> list[str]:
        """Lines that have no room, but for those that are one word: an id or a path is never broken."""
        return [line for line in self.lines if width_of(line) > columns and len(line.split()) > 1]


def shown(*words: str, columns: int, session: Session | None = None) -> Shown:
    """`trnbench WORDS` in this process, its stdout a terminal of `columns`."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    got = bytearray()
    reader = threading.Thread(target=_read, args=(ours, got))
    reader.start()
    rest = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    with (
        os.fdopen(theirs, "w", encoding="utf-8") as stream,
        patch.object(sys, "stdout", stream),
        patch.dict(os.environ, rest, clear=True),
    ):
        code = _code(words, session)
    reader.join()
    os.close(ours)
    return Shown(code, got.decode().replace("\r\n", "\n"))


def _code(words: Sequence[str], session: Session | None) -> int:
    try:
        cli.main(list(words), obj=session or Session())
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0


def _read(descriptor: int, into: bytearray) -> None:
    while True:
        try:
            part = os.read(descriptor, 65536)
        except OSError:  # nobody has the other end any more
            return
        if not part:
            return
        into += part
