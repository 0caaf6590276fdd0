"""A command from its beginning to its end: a signal ends it with code 130 and a sentence."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from trnbench.isolation.exit import come_to, command_begins, end
from trnbench.isolation.interrupt import Interrupted
from trnbench.isolation.output import data_apart

INTERRUPTED = 130
GARBAGE = 100_000
"""Objects between two looks for garbage: what a command makes mostly stays, and is hardly ever a circle."""


def guarded(command: Callable[[], object]) -> NoReturn:
    """Carry out `command`, which ends with `SystemExit`, and end the process with its code.

    SIGINT, SIGTERM and SIGHUP (unless it is ignored: nohup) raise `KeyboardInterrupt`, while modules
    are loaded and while a report is written too. Standard output is `sys.stdout`'s alone.
    """
    gc.set_threshold(GARBAGE)
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    code = INTERRUPTED
    try:
        for number in numbers:
            signal.signal(number, _interrupt)
        data_apart()
        command_begins()
        command()
        code = 0
    except SystemExit as asked:
        code = asked.code if isinstance(asked.code, int) else INTERRUPTED
    except KeyboardInterrupt:  # before there was anybody to say so, or while somebody did
        with suppress(OSError):
            os.write(2, b"\ninterrupted\n")
    # From here on the outcome stands: a signal may hasten the end, no more.
    for number in numbers:
        signal.signal(number, _hasten)
    come_to(code)
    end(code)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise Interrupted


_interrupt.raises_interrupted = True  # type: ignore[attr-defined]


def _hasten(_number: int, _frame: FrameType | None) -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    come_to(INTERRUPTED)
    os._exit(INTERRUPTED)
