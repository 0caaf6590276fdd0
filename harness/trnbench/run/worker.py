"""What runs inside a process of the pool: cases in, measurements out."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING

from trnbench.run.freight import loads

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


def serve(connection: Connection) -> None:
    """Answers batches of case numbers one measurement at a time, until it is sent None or left alone."""
    # The parent decides what Ctrl-C means; this process ends when it is told to, or left alone.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What native code prints must not end up between the data on the parent's stdout.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _first_to_go()
    try:
        attempts, cases = loads(connection.recv_bytes())
        connection.send("ready")
        while (batch := connection.recv()) is not None:
            for position in batch:
                connection.send((position, *attempts(cases[position])))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the parent is gone


def _first_to_go() -> None:
    """When memory runs out the kernel ends this process, not the run that it works for."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")
