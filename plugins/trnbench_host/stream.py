"""STREAM's four loops in NumPy, one set of arrays for each core; copies between processes."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trnbench import Point, Program, TrnbenchError
from trnbench_host.threads import Place, at_once

if TYPE_CHECKING:
    from numpy.random import Generator


SCALAR = 3.0
_BLOCK = 1 << 16  # doubles drawn at random; larger arrays repeat them, so that filling takes no minutes


class Arrays(NamedTuple):
    """One core's."""

    a: Any
    b: Any
    c: Any


def copy(point: Point, place: Place, rng: Generator) -> Program:
    """c = a"""
    return _program(point, place, rng, lambda x: partial(np.copyto, x.c, x.a), 2, lambda x: (x.c, x.a))


def scale(point: Point, place: Place, rng: Generator) -> Program:
    """b = s·c"""
    return _program(
        point,
        place,
        rng,
        lambda x: partial(np.multiply, x.c, SCALAR, out=x.b),
        2,
        lambda x: (x.b, SCALAR * x.c),
    )


def add(point: Point, place: Place, rng: Generator) -> Program:
    """c = a + b"""
    return _program(
        point, place, rng, lambda x: partial(np.add, x.a, x.b, out=x.c), 3, lambda x: (x.c, x.a + x.b)
    )


def triad(point: Point, place: Place, rng: Generator) -> Program:
    """a = b + s·c"""

    def loop(x: Arrays) -> Callable[[], Any]:
        def call() -> Any:
            np.multiply(x.c, SCALAR, out=x.a)
            return np.add(x.a, x.b, out=x.a)

        return call

    # NumPy has no fused loop: it writes a twice and reads it once more than STREAM counts.
    notes = ("NumPy carries out the triad as two loops: 5 arrays pass through memory, 3 are counted",)
    return _program(point, place, rng, loop, 3, lambda x: (x.a, x.b + SCALAR * x.c), notes)


def _program(
    point: Point,
    place: Place,
    rng: Generator,
    loop: Callable[[Arrays], Callable[[], Any]],
    arrays: int,
    expected: Callable[[Arrays], tuple[Any, Any]],
    notes: tuple[str, ...] = (),
) -> Program:
    count = max(1, int(point["size"]) // 8)
    sets = [Arrays(*(_filled(count, rng) for _ in range(3))) for _ in place.processors]
    run, idle, close = at_once(place.processors, [loop(arrays_) for arrays_ in sets])
    # Places that are looked at: the whole of a long array would be a second benchmark.
    places = np.unique(np.linspace(0, count - 1, min(count, 4096)).astype(int))

    def check(_: Any) -> str:
        for number, arrays_ in enumerate(sets):
            outputs, wanted = expected(Arrays(*(array[places] for array in arrays_)))
            if not np.array_equal(outputs, wanted):
                at = int(places[np.flatnonzero(outputs != wanted)[0]])
                return f"element {at} of core {number} is not what the formula gives"
        return ""

    def smaller() -> Program:
        return _program({**point, "size": max(8, count * 2)}, place, rng, loop, arrays, expected)

    return Program(
        run=run,
        check=check,
        awaited="NumPy's loops return when the array is written; threads are joined by their queues",
        checked=f"{len(places)} elements by the formula, on every core",
        amount=float(arrays * count * 8 * len(sets)),
        smaller=smaller,
        idle=idle,
        close=close,
        settings=place.describe(),
        notes=notes,
    )


def _filled(count: int, rng: Generator) -> Any:
    block = rng.uniform(1.0, 2.0, min(count, _BLOCK))
    return np.resize(block, count)


SHARED = "/dev/shm"
TAKE, SHOW, END = b"t", b"s", b"e"
PEER = "from trnbench_host.stream import serve; serve()"


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
