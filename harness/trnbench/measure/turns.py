"""A prepared program that is called in turns with another, by the clocks of this thread."""

from __future__ import annotations

import gc
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

from trnbench.backend import Program
from trnbench.results.statistics import median

Borrower: TypeAlias = Callable[[Program], Any]
"""Uses a program that a backend has prepared, in place of measuring it; the output of the last call."""

_borrower: ContextVar[Borrower | None] = ContextVar("borrower", default=None)


@contextmanager
def lent(borrower: Borrower) -> Iterator[None]:
    """Inside, whatever a backend would measure goes to `borrower` instead."""
    token = _borrower.set(borrower)
    try:
        yield
    finally:
        _borrower.reset(token)


def borrower() -> Borrower | None:
    """Who asks for the program that is about to be measured; None where it is measured as usual."""
    return _borrower.get()


class Clock(StrEnum):
    """What decides a pair, as `Change.metric` names it."""

    THREAD = "thread_time_s"
    WALL = "wall_time_s"
    DEVICE = "device_time_s"


class Turn(NamedTuple):
    """What some calls took in all. `waited`: how often this thread gave its processor away by itself.
    `repeats`: how often each of them does the work of the case."""

    thread_s: float
    wall_s: float
    process_s: float
    waited: int
    device_s: float = 0.0
    repeats: float = 1.0

    def by(self, clock: Clock) -> float:
        """Seconds by one of the clocks."""
        return {Clock.THREAD: self.thread_s, Clock.WALL: self.wall_s, Clock.DEVICE: self.device_s}[clock]


class Turns:
    """Calls of one program; `output` is that of the last."""

    def __init__(self, program: Program) -> None:
        self._program, self.output = program, None

    def take(self, calls: int) -> Turn:
        """Time `calls` calls. Where they are several, one more goes before them: the other program has had
        the caches."""
        program = self._program
        run, device = program.run, 0.0
        self.output = None  # what the last calls left must not keep memory from these
        if program.ready is not None:
            program.ready()
        if calls > 1:
            self.output = run()
        collecting = gc.isenabled()
        gc.disable()
        try:
            waited = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
            process, wall, thread = time.process_time(), time.perf_counter(), time.thread_time()
            for _ in range(calls):
                self.output = run()
                if program.device_clock is not None:
                    device += program.device_clock()
            thread, wall = time.thread_time() - thread, time.perf_counter() - wall
            process = time.process_time() - process
            waited = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw - waited
        finally:
            if collecting:
                gc.enable()
        return Turn(thread, wall, process, waited, device, program.repeats)


ELSEWHERE = 0.05
"""The share of a process's time that threads other than the caller's may have, for its clock to decide."""


def clock_of(turns: Sequence[Turn]) -> Clock:
    """The clock that sees the work: the device's where there is one, that of this thread where nothing else
    works for it, else the wall's. A thread that gives its processor away waits for somebody's work; one that
    loses it to others does not."""
    if all(turn.device_s > 0.0 for turn in turns):
        return Clock.DEVICE
    others = median([1.0 - turn.thread_s / turn.process_s for turn in turns if turn.process_s > 0.0] or [1.0])
    waits = median([float(turn.waited > 0) for turn in turns])
    return Clock.WALL if others > ELSEWHERE or waits else Clock.THREAD
