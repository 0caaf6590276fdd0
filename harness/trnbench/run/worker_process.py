"""A process that carries out cases, seen from the run that started it."""

from __future__ import annotations

import signal
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trnbench.errors import ExitCode, TrnbenchError
from trnbench.isolation import ending
from trnbench.isolation.keeper import PATIENCE_S
from trnbench.results.measurement import Reason
from trnbench.run.worker import serve

if TYPE_CHECKING:
    from multiprocessing.context import SpawnContext, SpawnProcess


class WorkerLost(TrnbenchError):
    """A worker process did not even start."""

    exit_code = ExitCode.CRASH


class WorkerProcess:
    """One process and what it is busy with: positions of cases, the one under way first."""

    def __init__(self, context: SpawnContext, payload: bytes) -> None:
        self.connection, theirs = context.Pipe()
        self.process: SpawnProcess = context.Process(
            target=serve, args=(theirs, ending.is_own()), daemon=True
        )
        # Ignored signals are inherited: a Ctrl-C while the child boots must not kill it with a traceback.
        before = signal.getsignal(signal.SIGINT)
        _set_interrupt(signal.SIG_IGN)
        try:
            self.process.start()
        finally:
            _set_interrupt(before)
        theirs.close()
        self.connection.send_bytes(payload)
        self.ready = False
        self.batch: deque[int] = deque()
        self.since = time.monotonic()
        self.memory_kills = out_of_memory_kills()

    def give(self, batch: Sequence[int]) -> None:
        """Cases to carry out; none for it to end."""
        self.batch.extend(batch)
        self.since = time.monotonic()
        with suppress(BrokenPipeError, ConnectionResetError):  # gone: heard of by reading
            self.connection.send(list(batch) if batch else None)

    def end(self) -> None:
        """Where it still runs: it, its cases and all that those have started."""
        if self.process.is_alive():
            self.process.terminate()
            self.process.join(PATIENCE_S)
            if self.process.is_alive():  # its keeper waits for what nobody can end
                self.process.kill()
        self.process.join()
        self.connection.close()

    def epitaph(self) -> tuple[Reason, str]:
        """Why it is gone: how the process ended, and whether memory ran out meanwhile."""
        return epitaph(self.process.exitcode, starved=self.memory_kills < out_of_memory_kills())

    def unstartable(self) -> WorkerLost:
        """What to raise where it was gone before it said that it is ready."""
        return WorkerLost(
            f"a worker process did not start (exit code {self.process.exitcode})",
            cause="a script that uses jobs, isolate or timeout_s lacks `if __name__ == '__main__':`, or a "
            "plugin fails to import there",
            try_="that line above what the script does; a command: trnbench plugin list",
        )


def epitaph(code: int | None, *, starved: bool) -> tuple[Reason, str]:
    """What an exit code says of a case that was lost with its process; `starved`: the system ended a process
    for want of memory meanwhile."""
    if code is None:
        return Reason.CRASH, "the process that ran it closed its connection"
    if code >= 0:
        return Reason.CRASH, f"the process that ran it ended itself with exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    text = f"the process that ran it was killed by {name}"
    if name != "SIGKILL":
        return Reason.CRASH, text
    if starved:
        return Reason.OUT_OF_MEMORY, f"{text}: the system ran out of memory and counted a process it ended"
    return Reason.CRASH, f"{text}; most often that is the system's out-of-memory killer"


def _set_interrupt(handler: Any) -> None:
    with suppress(ValueError):  # outside the main thread there is nothing to protect from
        signal.signal(signal.SIGINT, handler)


_ROOT = Path("/sys/fs/cgroup")


def out_of_memory_kills() -> int:
    """Processes ended so far, by this control group or, where none is told, by the whole system; else 0."""
    return max(_counts(), default=0)


def _counts() -> Iterator[int]:
    for path in (*_groups(), Path("/proc/vmstat")):
        try:
            lines = path.read_text().splitlines()
        except OSError:
            continue
        for line in lines:
            key, _, value = line.partition(" ")
            if key == "oom_kill" and value.strip().isdigit():
                yield int(value)


def _groups() -> Iterator[Path]:
    """The files of this process's group, versions 2 and 1 of the interface."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, place = (*line.split(":", 2), "", "")[:3]
        if not controllers:
            yield _ROOT / place.lstrip("/") / "memory.events"
        elif "memory" in controllers.split(","):
            yield _ROOT / "memory" / place.lstrip("/") / "memory.oom_control"
