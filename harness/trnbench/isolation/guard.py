"""A command from its beginning to its end: a signal ends it with code 130 and a sentence."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from trnbench.isolation.interrupt import Interrupted, from_outside, heeded, signalled
from trnbench.isolation.output import data_apart

_others: list[str] = []
_commands: list[bool] = []
_told: list[Callable[[int], None]] = []


def command_begins() -> None:
    """This process is that of a command, from its beginning to its end."""
    _commands[:] = [True]


def is_command() -> bool:
    """Whether this process is that of a command."""
    return bool(_commands)


def tell_end(told: Callable[[int], None]) -> None:
    """`told` hears of the code that the process is to end with, before anything else is done about it."""
    _told[:] = [told]


def come_to(code: int) -> None:
    """The outcome stands."""
    for told in _told:
        told(code)


def others_loaded(name: str) -> None:
    """Code that is not trnbench's own came into this process: files that it never closed, and objects with
    something to do when they go, are Python's to look after."""
    _others.append(name)


def end(code: int) -> NoReturn:
    """`at_once`, or as Python does it where threads run, or libraries or plugins of others were loaded."""
    import threading

    if not _others and threading.active_count() == 1 and "numpy" not in sys.modules:
        at_once(code)
    sys.exit(code)


def at_once(code: int) -> NoReturn:
    """What is registered with `atexit` is done, everything written goes out, and the process is gone.

    Python takes every module and object apart first, which costs a short command a fifth of its time.
    """
    import atexit

    try:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            if stream is not None and not stream.closed:
                stream.flush()
    except Exception:  # Python's own end says so, and has a code for it
        sys.exit(code)
    os._exit(code)


INTERRUPTED = 130
GARBAGE = 100_000
"""Objects between two looks for garbage: what a command makes mostly stays, and is hardly ever a circle."""


def guarded(command: Callable[[], object]) -> NoReturn:
    """Carry out `command`, which ends with `SystemExit`, and end the process with its code.

    SIGINT, SIGTERM and SIGHUP (unless it is ignored: nohup) raise `KeyboardInterrupt`, while modules
    are loaded and while a report is written too. Standard output is `sys.stdout`'s alone.
    What a finaliser or a callback of an import swallows comes again.
    """
    gc.set_threshold(GARBAGE)
    numbers = heeded()
    code = INTERRUPTED
    try:
        for number in numbers:
            signal.signal(number, _interrupt)
        sys.unraisablehook = _swallowed
        data_apart()
        command_begins()
        command()
        code = 0
    except SystemExit as asked:
        code = asked.code if isinstance(asked.code, int) else INTERRUPTED
    except (KeyboardInterrupt, Exception) as error:
        # Before there was anybody to say so, or while somebody did.
        if not isinstance(error, KeyboardInterrupt) and not from_outside(error):
            raise
        with suppress(OSError):
            os.write(2, b"\ninterrupted\n")
    # From here on the outcome stands: a signal may hasten the end, no more.
    for number in numbers:
        signal.signal(number, _hasten)
    come_to(code)
    end(code)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    signalled()
    raise Interrupted


_interrupt.raises_interrupted = True  # type: ignore[attr-defined]


AGAIN_S = 0.01
"""Until a signal comes again: by then the finaliser that swallowed it has ended."""


def _swallowed(unraisable: sys.UnraisableHookArgs) -> None:
    """Python drops what is raised in a finaliser or in a weak reference's callback, and says so here."""
    if not isinstance(unraisable.exc_value, Interrupted):
        sys.__unraisablehook__(unraisable)
        return
    import _thread

    _thread.start_new_thread(_once_more, ())


def _once_more() -> None:
    time.sleep(AGAIN_S)
    os.kill(os.getpid(), signal.SIGINT)


def _hasten(_number: int, _frame: FrameType | None) -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    come_to(INTERRUPTED)
    os._exit(INTERRUPTED)
