"""A time limit for one case, enforced from inside the process by an alarm."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class CaseTimeout(BaseException):
    """The limit was reached. Not an `Exception`: a kernel that catches those must not swallow it."""


def can_limit() -> bool:
    """Whether an alarm works here: POSIX, main thread."""
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises `CaseTimeout` inside the block after `seconds`; 0 sets no limit.

    Code that never returns to the interpreter is not stopped: that takes a process of its own.
    """
    if seconds <= 0.0:
        yield
        return

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise CaseTimeout

    before = signal.signal(signal.SIGALRM, ring)
    try:
        # Rings again every second: a first exception may be lost in a callback or a finaliser.
        signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
