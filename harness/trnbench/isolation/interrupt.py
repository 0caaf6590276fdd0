"""Ctrl-C and signals: who interrupted, and that no result is lost while it is being kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any


class Interrupted(KeyboardInterrupt):
    """Raised by trnbench's own handlers of signals, which have `raises_interrupted`."""


def from_outside(error: BaseException) -> bool:
    """Whether `error` is a `KeyboardInterrupt` that a signal brought.

    Where a program of others has a handler of its own for Ctrl-C, the two cannot be told apart: then it is.
    """
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
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            for number in heeded():
                self._before[number] = signal.signal(number, self._arrived)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _arrived(self, _number: int, _frame: FrameType | None) -> None:
        self.asked += 1
        if self._open or self.asked > 1:
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
