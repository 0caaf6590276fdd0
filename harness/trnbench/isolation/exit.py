"""How the command's process ends: at once, unless code of others may still have something to put away."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import NoReturn

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
