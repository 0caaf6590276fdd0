"""A keeper: a process that watches over another one, and ends with it all that it started."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import NoReturn

_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG, prctl(2)
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER, prctl(2)

DEATH_S = 5.0
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


def end_descendants(spared: Collection[int] = ()) -> bool:
    """Kill and collect every child but `spared`, and what those leave behind, until none is left. False where
    one does not go: it belongs to another user, or the system holds it."""
    until = time.monotonic() + DEATH_S
    pause = 0.5e-3
    while left := children().difference(spared):
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        _collect(left)
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


PATIENCE_S = DEATH_S + 1.0
"""For a keeper to end what it keeps."""

_HEEDED = (signal.SIGTERM, signal.SIGCHLD)
_OF_GROUP = (signal.SIGINT, signal.SIGHUP)


def kept(closed: Iterable[int] = (), *, session: bool = True, heard: int = -1) -> None:
    """Goes on in a new process, in a `session` and a process group of its own, or with the terminal of this
    one. The present one stays behind as its keeper and does not return: it closes the descriptors `closed`,
    and when the other ends, when it is sent SIGTERM, or when its own parent is gone, it kills that group and
    every descendant, one that began a session of its own too, and ends as the other did. Without a `session`
    only its parent's SIGTERM counts: what the whole group is sent, the other one hears as well, and its
    number is written to `heard`.

    To be called before there are threads.
    """
    parent = os.getppid()
    last_with(parent, signal.SIGTERM)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HEEDED if session else _HEEDED + _OF_GROUP)
    for number in _HEEDED:
        signal.signal(number, signal.SIG_DFL)
    # Its parent decides what they mean.
    usual = {number: signal.signal(number, signal.SIG_IGN) for number in _OF_GROUP}
    if session:
        os.setsid()
    adopt()
    keeper = os.getpid()
    early = () if session else signal.sigpending().intersection((signal.SIGTERM, *_OF_GROUP))
    child = forked()
    if child:
        _keep(child, closed, 0 if session else parent, heard)
    if session:
        os.setsid()
    last_with(keeper)
    for number, handler in usual.items():
        signal.signal(number, handler)
    for number in early:  # sent to the group before there was this process
        os.kill(os.getpid(), number)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def forked() -> int:
    """`os.fork` with nothing left in buffers to be written twice."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    with warnings.catch_warnings():
        # Of Python 3.12, about threads of libraries: what runs in the child is this thread alone.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def ended(pid: int, alone_s: float = 0.0) -> int:
    """Have the keeper `pid`, a child of this process, end what it keeps, if it does not by itself within
    `alone_s`; its exit code, or -signal."""
    for seconds, number in ((alone_s, signal.SIGTERM), (PATIENCE_S, signal.SIGKILL)):
        code = collected(pid, time.monotonic() + seconds)
        if code is not None:
            return code
        os.kill(pid, number)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def collected(pid: int, until: float) -> int | None:
    """How a child of this process ended; None where it has not, at `until`."""
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= until:
            return None
        time.sleep(1e-3)


def kill_group(pid: int) -> None:
    """A process with its group, or without where it has none of its own."""
    for kill in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def _keep(child: int, closed: Iterable[int], obeyed: int, heard: int) -> NoReturn:
    """`obeyed`: whose SIGTERM counts; 0 for anybody's."""
    code = -signal.SIGKILL
    try:
        for descriptor in closed:
            with suppress(OSError):
                os.close(descriptor)
        while not _told_to_end(obeyed, heard):
            # Left uncollected until its group is killed: its number cannot be another's till then.
            if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                break
            _collect(children() - {child})  # orphans that ended by themselves
        kill_group(child)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        end_descendants()
    finally:
        _end_as(code)


def _told_to_end(obeyed: int, heard: int) -> bool:
    """Whether the next signal is the one to end with. One that the system sends for a parent that is gone
    has that parent as its sender."""
    if not obeyed:
        return signal.sigwait(_HEEDED) == signal.SIGTERM
    seen = signal.sigwaitinfo(_HEEDED + _OF_GROUP)
    if seen.si_signo == signal.SIGTERM and (seen.si_pid == obeyed or os.getppid() != obeyed):
        return True
    if seen.si_signo != signal.SIGCHLD:
        with suppress(OSError):
            os.write(heard, bytes([seen.si_signo]))
    return False


def _collect(processes: Iterable[int]) -> None:
    """Those of them that have ended."""
    for pid in processes:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def _end_as(code: int) -> NoReturn:
    if code < 0:
        import resource

        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # one picture of the memory is enough
            signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [-code])
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 128 - code)  # a container's first process outlives its own signal
