"""The tiny machine, whose cases start what outlives them, end their process, or leave it changed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import tiny_machine as tiny

from trnbench import Evidence, Grade, Observation
from trnbench.registry import Registry

STARTED = "ENDING_STARTED"
"""Names the folder in which each process that a case starts leaves a file called as its number."""


def start(*, session: bool = True) -> int:
    """A process that would live on for an hour; by default in a session of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=session
    )
    (Path(os.environ[STARTED]) / str(process.pid)).touch()
    return process.pid


def grandchild() -> None:
    """One below a process that is gone: nothing but the system knows whose it was."""
    if os.fork() == 0:
        os.setsid()
        start()
        os._exit(0)
    os.wait()


class Ending(tiny.Actor):
    def _quits(self) -> Observation:
        os._exit(0)

    def _starts(self) -> Observation:
        start()
        start(session=False)
        grandchild()
        return self._seen(tiny.FLOPS / tiny.DOCUMENTED)

    def _starts_and_hangs(self) -> Observation:
        self._starts()
        return self._hang()

    def _starts_and_is_deaf(self) -> Observation:
        self._starts()
        return self._deaf()

    def _starts_and_dies(self) -> Observation:
        self._starts()
        return self._die()

    def _starts_and_waits(self) -> Observation:
        self._starts()
        (Path(os.environ[STARTED]) / "waiting").touch()
        return self._hang()

    def _copies_itself(self) -> Observation:
        os.fork()
        return self._seen(tiny.FLOPS / tiny.DOCUMENTED)

    def _writes(self) -> Observation:
        os.write(1, b"by descriptor\n")
        subprocess.run(["echo", "by a process"], check=True)
        print("by Python")
        return self._seen(tiny.FLOPS / tiny.DOCUMENTED)

    def _moves(self) -> Observation:
        os.chdir("/")
        os.umask(0)
        return self._seen(tiny.FLOPS / tiny.DOCUMENTED)

    def _leaves_a_thread(self) -> Observation:
        threading.Thread(target=time.sleep, args=(3600,)).start()
        return self._seen(tiny.FLOPS / tiny.DOCUMENTED)

    def _tells(self) -> Observation:
        """Which process, how many threads, which folder."""
        told = {"process": os.getpid(), "threads": threading.active_count(), "folder": os.getcwd()}
        return self._seen(tiny.FLOPS / tiny.DOCUMENTED, detail=told)

    def _interrupts(self) -> Observation:
        raise KeyboardInterrupt("no key was pressed")

    def _speed(self) -> Any:
        return "fast"

    def _text_time(self) -> Any:
        return Observation(evidence=self.evidence, time_s="fast", stop_reason="")  # type: ignore[arg-type]

    def _no_evidence(self) -> Any:
        return Observation(evidence=None, time_s=1.0)  # type: ignore[arg-type]


class Silent(tiny.Actor):
    """Detects nothing that anybody could read."""

    def detect(self) -> Any:
        return None


def registry(*modes: str) -> Registry:
    """The tiny machine with this backend and a kernel that plays `modes`, in this order."""
    backend = Ending(Evidence(grade=Grade.EMULATED, by="actor", version="1"))
    return tiny.registry(*modes, backend=backend)


if __name__ == "__main__":
    import ending_machine  # by its name, which other processes find it by

    tiny.program(ending_machine.registry(*os.environ["TINY_MODES"].split(",")))
