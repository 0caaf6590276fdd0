"""What runs inside a process of the pool: cases in, measurements out."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING

from trnbench.results.evidence import Grade
from trnbench.run.freight import loads
from trnbench.run.garbage import seldom_collected

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


def serve(connection: Connection) -> None:
    """Answers batches of case numbers one measurement at a time, until it is sent None or left alone."""
    # The parent decides what Ctrl-C means; this process ends when it is told to, or left alone.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _last_with(os.getppid())
    # What native code prints must not end up between the data on the parent's stdout.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _first_to_go()
    try:
        attempts, cases = loads(connection.recv_bytes())
        connection.send("ready")
        measured = attempts.unseen.grade is Grade.MEASURED
        with contextlib.nullcontext() if measured else seldom_collected():
            while (batch := connection.recv()) is not None:
                for position in batch:
                    connection.send((position, *attempts(cases[position])))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the parent is gone


def _last_with(parent: int) -> None:
    """Ends with the process that started this one, also where that is killed and says nothing: a case that
    hangs must not outlive the run that it belongs to. Linux only; elsewhere the next message tells."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)  # it was gone before this was set


_PDEATHSIG = 1  # PR_SET_PDEATHSIG, prctl(2)


def _first_to_go() -> None:
    """When memory runs out the kernel ends this process, not the run that it works for."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")
