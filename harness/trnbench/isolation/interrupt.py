"""Ctrl-C, signals and time limits: who interrupted, and that no result is lost while it is being kept."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Interrupted(KeyboardInterrupt):
    """Raised by trnbench's own handlers of signals, which have `raises_interrupted`."""


_signalled: list[bool] = []


def signalled() -> None:
    """A signal ends this command: its handler raises `Interrupted` wherever the program is."""
    _signalled[:] = [True]


def from_outside(error: BaseException) -> bool:
    """Whether a signal brought `error`: a `KeyboardInterrupt`, or what a library made of `Interrupted`.

    NumPy and msgspec raise an `ImportError` where a signal comes while they are imported.
    Where a program of others has a handler of its own for Ctrl-C, the two cannot be told apart: then it is.
    """
    if isinstance(error, Exception):
        return bool(_signalled)
    if not isinstance(error, KeyboardInterrupt) or isinstance(error, Interrupted):
        return isinstance(error, KeyboardInterrupt)
    handler = signal.getsignal(signal.SIGINT)
    return handler != signal.SIG_IGN and not getattr(handler, "raises_interrupted", False)


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def heeded() -> list[signal.Signals]:
    """The signals that end a command, but not a hangup that is to be survived (nohup)."""
    return [each for each in SIGNALS if each != signal.SIGHUP or signal.getsignal(each) != signal.SIG_IGN]


class Interruption:
    """While entered, SIGINT, SIGTERM and SIGHUP raise `KeyboardInterrupt` only inside `allowed` blocks.

    Elsewhere they are remembered and raised by the next block. A second signal is not kept
    waiting: whoever asks twice means it.
    """

    def __init__(self) -> None:
        self.asked = 0
        self._open = False
        self._raised = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            for number in heeded():
                self._before[number] = signal.signal(number, self._arrived)
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._raised:
            _signalled.clear()  # errors of whatever this program does next are its own
            if isinstance(error, Exception):
                raise Interrupted from error

    def _arrived(self, _number: int, _frame: FrameType | None) -> None:
        self.asked += 1
        if self._open or self.asked > 1:
            self._raised = True
            signalled()
            raise Interrupted

    _arrived.raises_interrupted = True  # type: ignore[attr-defined]

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """A stretch of work that may be cut short anywhere."""
        self.check()
        self._open = True
        try:
            yield
        finally:
            self._open = False

    def check(self) -> None:
        """Raises `KeyboardInterrupt` if a signal has come, swallowed by the case or not."""
        if self.asked:
            raise Interrupted


SOON_S = 1e-3
"""To an alarm that should have rung already."""

Watch = Callable[[float], None]

_watch: list[Watch] = []


class CaseTimeout(BaseException):
    """The limit was reached. Not an `Exception`: a kernel that catches those must not swallow it."""


def can_limit() -> bool:
    """Whether an alarm works here: POSIX, main thread."""
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


def watched_by(watch: Watch) -> None:
    """From now on `watch` is told of each limit, in seconds, and of its end by 0: for a process whose parent
    ends it where it is deaf to the alarm."""
    _watch[:] = [watch]


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises `CaseTimeout` inside the block after `seconds`; 0 sets no limit.

    Of two blocks, one in the other, the limit that ends first counts. Code that never returns to the
    interpreter is not stopped: that takes a process of its own.
    """
    outer, again = signal.getitimer(signal.ITIMER_REAL) if seconds > 0.0 else (0.0, 0.0)
    if seconds <= 0.0 or 0.0 < outer <= seconds:
        yield
        return

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise CaseTimeout

    before = signal.signal(signal.SIGALRM, ring)
    since = time.monotonic()
    try:
        for watch in _watch:
            watch(seconds)
        # Rings again every second: a first exception may be lost in a callback or a finaliser.
        signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        if outer:
            signal.setitimer(signal.ITIMER_REAL, max(outer - (time.monotonic() - since), SOON_S), again)
        for watch in _watch:
            watch(0.0)
