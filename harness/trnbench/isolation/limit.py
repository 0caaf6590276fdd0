"""A time limit for a stretch of code, enforced from inside the process by an alarm."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

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
