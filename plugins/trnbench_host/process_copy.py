"""From this process to another through shared memory: copied in here, copied out there, acknowledged."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

from trnbench import Point, Program, TrnbenchError
from trnbench_host.threads import Place

if TYPE_CHECKING:
    from numpy.random import Generator

SHARED = "/dev/shm"
TAKE, SHOW, END = b"t", b"s", b"e"
PEER = "from trnbench_host.process_copy import serve; serve()"


def prepare(point: Point, place: Place, rng: Generator) -> Program:
    """The other process runs on the last of the processors, this one where it is put."""
    return _Handover(int(point["size"]), point, place, rng).program()


class _Handover:
    def __init__(self, size: int, point: Point, place: Place, rng: Generator) -> None:
        self.size, self.point, self.place, self.rng = size, point, place, rng
        self.source = rng.integers(0, 256, size, dtype=np.uint8)
        folder = SHARED if os.access(SHARED, os.W_OK) else tempfile.gettempdir()
        with tempfile.TemporaryFile(dir=folder) as file:
            file.truncate(size)
            self.map = mmap.mmap(file.fileno(), size)
            self.shared = np.frombuffer(self.map, dtype=np.uint8)
            self.peer = subprocess.Popen(
                [sys.executable, "-c", PEER, str(file.fileno()), str(size), str(place.processors[-1])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=(file.fileno(),),
                bufsize=0,
            )
            self._answer()  # it has the memory and waits

    def _answer(self) -> None:
        assert self.peer.stdout is not None
        if self.peer.stdout.read(1) != b"k":
            raise TrnbenchError("the other process ended before it had the data", try_="trnbench doctor")

    def _ask(self, what: bytes) -> None:
        assert self.peer.stdin is not None
        self.peer.stdin.write(what)
        self._answer()

    def run(self) -> None:
        self.shared[:] = self.source
        self._ask(TAKE)

    def check(self, _: Any) -> str:
        self.shared[:] = 0
        self._ask(SHOW)
        if np.array_equal(self.shared, self.source):
            return ""
        return f"byte {int(np.flatnonzero(self.shared != self.source)[0])} did not arrive as it was sent"

    def close(self) -> None:
        if self.peer.stdin is not None and self.peer.poll() is None:
            self.peer.stdin.write(END)
        self.peer.wait()
        for pipe in (self.peer.stdin, self.peer.stdout):
            if pipe is not None:
                pipe.close()
        del self.shared
        self.map.close()

    def program(self) -> Program:
        def smaller() -> Program:
            return prepare({**self.point, "size": max(1, self.size // 4)}, self.place, self.rng)

        return Program(
            run=self.run,
            check=self.check,
            awaited="the other process answers when it has copied the last byte",
            checked="the other process shows what it received, every byte compared",
            amount=2.0 * self.size,
            smaller=smaller,
            idle=self._signal,
            close=self.close,
            settings={**self.place.describe(), "peer_processor": self.place.processors[-1]},
        )

    def _signal(self) -> None:
        """The way there and back without data: a peer's answer to nothing."""
        self._ask(b"n")


def serve() -> None:
    """The other process: takes what is in the shared memory, shows it on demand, ends when told."""
    number, size, processor = (int(word) for word in sys.argv[1:4])
    os.sched_setaffinity(0, (processor,))
    shared = np.frombuffer(mmap.mmap(number, size), dtype=np.uint8)
    own = np.zeros(size, dtype=np.uint8)
    os.write(1, b"k")
    while (order := os.read(0, 1)) not in (END, b""):
        if order == TAKE:
            own[:] = shared
        elif order == SHOW:
            shared[:] = own
        os.write(1, b"k")
