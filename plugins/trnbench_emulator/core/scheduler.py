"""The schedule of a program: when each instruction starts and ends, and the critical path."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Container
from itertools import pairwise

import msgspec
import numpy as np
import numpy.typing as npt

from trnbench.record import Record
from trnbench_emulator.core.core import LAUNCHED, TURN, Core
from trnbench_emulator.core.pace import NOTHING_REMOVED as NOTHING_REMOVED
from trnbench_emulator.core.pace import Pace, Without
from trnbench_emulator.core.program import (
    GPSIMD,
    GPSIMD_RING,
    LOAD,
    QUEUES,
    SCALAR,
    SCALAR_RING,
    STORE,
    Dep,
    Program,
)  # fmt: skip
from trnbench_emulator.core.transfers import SYNC

Ints = npt.NDArray[np.int64]


class Mark(Record):
    """Somewhere in a program: when everything before it has ended, and what was busy how long. `last`: by
    queue, when the last of its instructions has ended."""

    total: int
    busy: dict[str, int]
    last: tuple[int, ...]

    @classmethod
    def of(cls, core: Core) -> Mark:
        return cls(core.total, core.busy(), tuple(core.last))


_LINES = (*range(SCALAR_RING), SCALAR, GPSIMD)
"""A trigger in an engine's queue waits its turn there."""


class Path:
    """Of one schedule; `spent` ticks by cause, as far as it was followed."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.program = schedule.program
        self.spent: Counter[str] = Counter()
        self._of_op = [0] * len(self.program.ops)
        lines = np.array(_LINES)[schedule.queues()]
        previous = np.full(len(lines), -1)
        for line in set(_LINES):
            mine = np.flatnonzero(lines == line)
            previous[mine[1:]] = mine[:-1]
        self._previous: list[int] = previous.tolist()

    def last(self) -> int:
        """The last instruction to end."""
        return len(self.program) - 1 - int(np.frombuffer(self.schedule.end, np.int64)[::-1].argmax())

    def told(self) -> Counter[str]:
        """All that was spent."""
        for op, ticks in zip(self.program.ops, self._of_op, strict=True):
            self.spent[f"{op.opcode} on {op.engine}"] += ticks
        return self.spent

    def walk(self, number: int, until: int, stops: Container[int]) -> tuple[int, int]:
        """Back from tick `until`, when instruction `number` ended, to the launch or the start of one of
        `stops`. Returns that instruction, -1 at the launch, and the tick.
        """
        schedule = self.schedule
        while number >= 0:
            self.spend(number, until - schedule.start[number])
            until = schedule.start[number]
            if number in stops:
                return number, until
            number, until = self.before(number, until, schedule.cause[number])
        return number, until

    def spend(self, at: int, ticks: int) -> None:
        """On instruction `at`."""
        self._of_op[self.program.op[at]] += ticks

    def before(self, at: int, until: int, cause: int) -> tuple[int, int]:
        """Whom `at`, which started at tick `until`, waited for because of `cause`, and until when."""
        if cause >= 0:
            source = Dep.of(cause).source
            self.spent["semaphores"] += max(until - self.schedule.end[source], 0)
            return source, min(until, self.schedule.end[source])
        if cause == LAUNCHED:
            return -1, until
        if cause == TURN:
            return self._previous[at], until
        return self._rival(at, until), until

    def _rival(self, at: int, until: int) -> int:
        """Whoever held the memory until this one could begin."""
        for number in range(at - 1, -1, -1):
            if self.schedule.issued[number] == until and self.schedule.start[number] < until:
                return number
        return -1


STRIP_ROWS = {
    **{name: (queue,) for queue, name in enumerate(QUEUES[:GPSIMD])},
    "gpsimd": (GPSIMD, GPSIMD_RING),
    SYNC: (LOAD, STORE),
    "scalar triggers": (SCALAR_RING,),
}
"""Rows of a strip, and the queues that keep each busy."""

STRIP_ROW = {queue: row for row, queues in enumerate(STRIP_ROWS.values()) for queue in queues}

STRIP_SPANS = 40
"""Equal spans of the time that a strip tells apart."""


class Schedule(msgspec.Struct, kw_only=True):
    """Ticks of every instruction of `program`. `cause`: the dependency it waited for longest (as in
    `Program.deps`), TURN of its queue, EXCLUDED from a memory, or LAUNCHED. `marks`: the end of all
    instructions before each of the positions asked for, `done`: of all.
    """

    program: Program
    done: Mark
    start: array[int]
    issued: array[int]
    end: array[int]
    cause: array[int]
    marks: tuple[Mark, ...] = ()

    @classmethod
    def of(cls, core: Core, marks: tuple[Mark, ...] = ()) -> Schedule:
        """What a core has done by now."""
        return cls(
            program=core.program,
            done=Mark.of(core),
            start=core.start,
            issued=core.issued,
            end=core.end,
            cause=core.cause,
            marks=marks,
        )

    @property
    def total(self) -> int:
        """When all has ended."""
        return self.done.total

    @property
    def busy(self) -> dict[str, int]:
        """What was busy how long."""
        return self.done.busy

    def strip(self, parts: int = STRIP_SPANS) -> dict[str, str]:
        """How busy each engine's queue was in `parts` equal spans: one digit each, 9 is all of it."""
        width = max(-(-self.total // parts), 1)
        ops = np.frombuffer(self.program.op, np.uint32)
        base = np.array([STRIP_ROW[queue] * parts for queue in self.program.queues], np.int64)
        start = np.frombuffer(self.start, np.int64)
        took = np.frombuffer(self.issued, np.int64) - start
        first = start // width
        beyond = start - first * width
        beyond += took
        beyond -= width
        # A queue does one thing at a time: no more of them than spans go on into another.
        late = np.flatnonzero(beyond > 0)
        rest = beyond[late].tolist()
        took[late] -= beyond[late]
        first += base[ops]
        spent = np.bincount(first, took, len(STRIP_ROWS) * parts).astype(np.int64)
        for cell, ticks in zip(first[late].tolist(), rest, strict=True):
            whole, part = divmod(ticks, width)
            spent[cell + 1 : cell + 1 + whole] += width
            if part:
                spent[cell + 1 + whole] += part
        digits = np.minimum(9 * spent // width, 9).reshape(len(STRIP_ROWS), parts)
        shown = [any(line) for line in spent.reshape(digits.shape).tolist()]
        return {
            name: "".join(map(str, line))
            for name, line, busy in zip(STRIP_ROWS, digits.tolist(), shown, strict=True)
            if busy
        }

    def by_place(self) -> dict[tuple[str, int], int]:
        """Ticks in which a line's instructions kept their engine busy.

        Triggers of transfers are left out: what a transfer costs is the time of the DMA engines.
        """
        program = self.program
        spent = np.zeros(len(program.places), np.int64)
        took = np.frombuffer(self.issued, np.int64) - np.frombuffer(self.start, np.int64)
        np.add.at(spent, np.frombuffer(program.place, np.uint32), np.where(self.queues() < LOAD, took, 0))
        return dict(zip(program.places, spent.tolist(), strict=True))

    def queues(self) -> Ints:
        """Of every instruction."""
        return np.array(self.program.queues, np.int64)[np.frombuffer(self.program.op, np.uint32)]


def schedule(
    program: Program,
    pace: Pace,
    *,
    without: Without = NOTHING_REMOVED,
    marks: tuple[int, ...] = (),
) -> Schedule:
    """When each instruction starts and ends on a core."""
    core = Core(program, pace, without)
    return Schedule.of(core, marked(core, marks, core.advance)[:-1])


def marked(core: Core, marks: tuple[int, ...], advance: Callable[[int, int], None]) -> tuple[Mark, ...]:
    """What was busy how long at each of `marks`, and at the end, when `advance` carries out the program."""
    reached = []
    for begin, end in pairwise((0, *marks, len(core.program))):
        advance(begin, end)
        reached.append(Mark.of(core))
    return tuple(reached)
