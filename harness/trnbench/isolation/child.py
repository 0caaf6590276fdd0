"""Work in a process of its own: its words and its result come back, and it ends with all it started."""

from __future__ import annotations

import io
import os
import pickle
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from trnbench.isolation.interrupt import watched_by
from trnbench.isolation.keeper import ended, forked, kept
from trnbench.isolation.output import columns_of

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

T = TypeVar("T")

GRACE_S = 3.0
"""The alarm inside rings first; this much later the process itself is ended."""


class Overdue(Exception):
    """The process was deaf to the alarm of a limit, and was ended. `seconds`: the limit."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class Lost(Exception):
    """The process ended without its result. `code`: its exit code, below 0 for a signal."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code

    @property
    def how(self) -> str:
        """ "ended itself with exit code 0", "was killed by SIGSEGV"."""
        if self.code >= 0:
            return f"ended itself with exit code {self.code}"
        known = {number.value: number.name for number in signal.Signals}
        return f"was killed by {known.get(-self.code, f'signal {-self.code}')}"


def carried_out(
    work: Callable[[Callable[[str, Any], None]], T], heard: Mapping[str, Callable[[Any], None]] = {}
) -> T:
    """What `work` returns, computed in a copy of this process.

    `work` is given a function that sends a word and a value; `heard` says what to do with them here. What it
    writes to `sys.stdout` and `sys.stderr` is written by this process, what it writes to descriptor 1 goes to
    standard error. A limit of `limited` is enforced from here as well. Success is an explicit message: raises
    `Lost` where the process ends before it, however it ends, and `Overdue`.
    """
    from multiprocessing import Pipe

    ours, theirs = Pipe()
    width = columns_of(sys.stdout)
    streams = sys.stdout, sys.stderr
    pid = forked()
    if pid == 0:
        ours.close()
        kept(closed=(theirs.fileno(),))
        _work(work, theirs, width)
    theirs.close()
    code = None
    words = {"stdout": _writer(streams[0]), "stderr": _writer(streams[1]), **heard}
    try:
        until, limit = float("inf"), 0.0
        while True:
            left = until - time.monotonic()
            if not ours.poll(None if left == float("inf") else max(left, 0.0)):
                raise Overdue(limit)
            try:
                word, value = ours.recv()
            except (EOFError, OSError, pickle.UnpicklingError):
                code = ended(pid, alone_s=GRACE_S)
                raise Lost(code) from None
            if word == "result":
                # It exits now, by itself: killed, it could not write what a profiler counted of it.
                code = ended(pid, alone_s=GRACE_S)
                return value  # type: ignore[no-any-return]
            if word == "limit":
                limit = value
                until = time.monotonic() + limit + GRACE_S if limit else float("inf")
            else:
                words[word](value)
    finally:
        ours.close()
        if code is None:
            ended(pid)


def _work(work: Callable[[Callable[[str, Any], None]], Any], theirs: Connection, width: int | None) -> None:
    """In the child; does not return."""
    process, code = os.getpid(), 1

    def send(word: str, value: Any) -> None:
        if os.getpid() == process:  # not in a copy that the work made of it
            theirs.send((word, value))

    try:
        if width is not None:
            os.environ.setdefault("COLUMNS", str(width))  # of the terminal, which this process does not see
        sys.stdout, sys.stderr = _Sent("stdout", sys.stdout, send), _Sent("stderr", sys.stderr, send)
        _descriptors()
        watched_by(lambda seconds: send("limit", seconds))
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
        send("result", work(send))
        code = 0
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
    finally:
        os._exit(code)


def _descriptors() -> None:
    """No input, and nothing but standard error to write to."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    for stream in (sys.__stdout__, sys.stdout):
        with suppress(OSError, ValueError, AttributeError):
            os.dup2(2, stream.fileno())  # type: ignore[union-attr]
    os.close(nowhere)


class _Sent(io.TextIOBase):
    """A stream whose text another process writes; else it looks like `usual`."""

    def __init__(self, word: str, usual: TextIO, send: Callable[[str, Any], None]) -> None:
        self._word, self._usual, self._send = word, usual, send

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return getattr(self._usual, "encoding", None) or "utf-8"

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        return getattr(self._usual, "errors", None)

    def isatty(self) -> bool:
        return bool(self._usual.isatty())

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 2  # of what it starts: as all that is written by descriptor

    @property
    def buffer(self) -> Any:
        return open(2, "wb", buffering=0, closefd=False)

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if text:
            self._send(self._word, text)
        return len(text)


def _writer(stream: TextIO) -> Callable[[str], None]:
    def write(text: str) -> None:
        stream.write(text)
        stream.flush()

    return write
