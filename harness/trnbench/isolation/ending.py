"""How the command's processes end: at once, unless code of others may still have something to put away."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

_others: list[str] = []
_commands: list[int] = []


def others_loaded(name: str) -> None:
    """Code that is not trnbench's own came into this process: files that it never closed, and objects with
    something to do when they go, are Python's to look after."""
    _others.append(name)


def commanded() -> None:
    """This process carries out a command: no program of others has called trnbench."""
    _commands.append(os.getpid())


def is_own() -> bool:
    """Whether this process carries out a command, with nobody else's code."""
    return bool(_commands) and not _others


def end(code: int) -> NoReturn:
    """`at_once`, or as Python does it where threads run, or libraries or plugins of others were loaded."""
    import threading

    if not _others and threading.active_count() == 1 and "numpy" not in sys.modules:
        at_once(code)
    sys.exit(code)


def at_once(code: int) -> NoReturn:
    """What is registered with `atexit` is done, everything written goes out, and the process is gone. Taking
    every module and object apart first would cost a short command a tenth of its time, and one that has
    timed thousands of cases more than a second."""
    import atexit

    try:
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
            if stream is not None and not stream.closed:
                stream.flush()
    except Exception:  # Python's own end says so, and has a code for it
        sys.exit(code)
    os._exit(code)
