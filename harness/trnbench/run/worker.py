"""What runs inside a process of the pool: cases in, measurements out."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

from trnbench.isolation import descendants, ending
from trnbench.isolation.garbage import seldom_collected
from trnbench.isolation.keeper import kept
from trnbench.isolation.surroundings import Surroundings
from trnbench.results.evidence import Grade
from trnbench.results.measurement import Reason
from trnbench.run.freight import loads

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from trnbench.kernels.case import Case
    from trnbench.run.attempt import Attempts
    from trnbench.run.outcome import Outcome


def serve(connection: Connection, own: bool) -> None:
    """Answers batches of case numbers one outcome at a time, until it is sent None or left alone: position,
    measurement as JSON, and whether this process is as it was before the case: else another one is to go on.

    Runs below a keeper, which ends what the cases started. `own`: nobody else's code is carried out; then a
    model that has answered is not taken apart.
    """
    # The parent decides what Ctrl-C means; this process ends when it is told to, or left alone.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    kept(closed=(connection.fileno(),))
    # What native code prints must not end up between the data on the parent's stdout.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _first_to_go()
    process, measured = os.getpid(), True
    try:
        attempts, cases = loads(connection.recv_bytes())
        connection.send("ready")
        measured = attempts.unseen.grade is Grade.MEASURED
        with contextlib.nullcontext() if measured else seldom_collected():
            while (batch := connection.recv()) is not None:
                for position in batch:
                    (_, _, document), sound = tried(attempts, cases, position)
                    if os.getpid() != process:
                        os._exit(1)  # a copy that the case made of this process, and that came back from it
                    connection.send((position, document, sound))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the parent is gone
    if own and not measured and threading.active_count() == 1:
        ending.at_once(0)


def tried(attempts: Attempts, cases: tuple[Case, ...], position: int) -> tuple[Outcome, bool]:
    """The outcome, and whether the case left nothing behind; processes that it started are ended."""
    before, threads, others = Surroundings(drawn=False), threading.active_count(), descendants.children()
    measurement, document = attempts(cases[position])
    cut = measurement.reason in (Reason.TIMEOUT, Reason.OUT_OF_MEMORY)
    sound = not cut and not before.put_back() and threading.active_count() <= threads
    gone = descendants.end(spared=others)
    return (position, measurement, document), sound and gone


def _first_to_go() -> None:
    """When memory runs out the kernel ends this process, not the run that it works for."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")
