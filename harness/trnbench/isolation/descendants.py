"""All that a process has started, also what began a session of its own: found and ended."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Collection
from contextlib import suppress

_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG, prctl(2)
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER, prctl(2)

PATIENCE_S = 5.0
"""For what was killed to be gone: a process that waits for a disk or a device takes its time."""


def adopt() -> None:
    """Orphans among the descendants of this process become its own children, from now on. Linux only;
    elsewhere they become those of the system."""
    _prctl(_SUBREAPER, 1)


def last_with(parent: int, number: int = signal.SIGKILL) -> None:
    """Has the system send `number` to this process when `parent`, which started it, is gone, also where that
    is killed and says nothing. Linux only."""
    if not _prctl(_DEATH_SIGNAL, number):
        return
    if os.getppid() != parent:
        os._exit(1)  # it was gone before this was set


def children() -> set[int]:
    """Processes that this one started or adopted and has not collected yet."""
    with suppress(ChildProcessError):
        # One call in the usual case, in which there are none.
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return _listed()
    return set()


def end(spared: Collection[int] = ()) -> bool:
    """Kill and collect every child but `spared`, and what those leave behind, until none is left. False where
    one does not go: it belongs to another user, or the system holds it."""
    until = time.monotonic() + PATIENCE_S
    pause = 0.5e-3
    while left := children().difference(spared):
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pid in left:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        if time.monotonic() > until:
            return False
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    return True


def _listed() -> set[int]:
    processes: set[int] = set()
    try:
        threads = os.listdir("/proc/self/task")
    except OSError:  # not Linux
        return processes
    for thread in threads:
        try:
            with open(f"/proc/self/task/{thread}/children") as file:
                processes.update(map(int, file.read().split()))
        except FileNotFoundError:
            continue  # the thread is gone
    return processes


def _prctl(option: int, value: int) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)
