"""The critical path: from the end of a schedule back along what each instruction waited for longest."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Container
from typing import Protocol

import numpy as np
import numpy.typing as npt

from trnbench_emulator.core.core import LAUNCHED, TURN
from trnbench_emulator.core.dependency import Dep
from trnbench_emulator.core.program import GPSIMD, QUEUES, SCALAR, SCALAR_RING, Program

Ints = npt.NDArray[np.int64]

_LINES = (*range(SCALAR_RING), SCALAR, GPSIMD)
"""A trigger in an engine's queue waits its turn there."""


class Scheduled(Protocol):
    """What a path is followed through: the ticks of every instruction and what it waited for."""

    @property
    def program(self) -> Program: ...
    @property
    def start(self) -> array[int]: ...
    @property
    def issued(self) -> array[int]: ...
    @property
    def end(self) -> array[int]: ...
    @property
    def cause(self) -> array[int]: ...

    def queues(self) -> Ints: ...


class Path:
    """Of one schedule; `spent` ticks by cause, as far as it was followed."""

    def __init__(self, schedule: Scheduled) -> None:
        self.schedule = schedule
        self.program = schedule.program
        self.spent: Counter[str] = Counter()
        self._start = np.frombuffer(schedule.start, np.int64)
        self._ops = np.frombuffer(self.program.op, np.uint32)
        self._lines = _Lines(np.array(_LINES)[schedule.queues()], np.frombuffer(schedule.cause, np.int64))
        self._of_op = np.zeros(len(self.program.ops), np.int64)

    def whole(self) -> dict[str, int]:
        """From the last end to the first start; adds up to the schedule's `total`."""
        at = self.last()
        _, until = self.walk(at, self.schedule.end[at])
        return self.told(until)

    def last(self) -> int:
        """The last instruction to end."""
        return len(self.program) - 1 - int(np.frombuffer(self.schedule.end, np.int64)[::-1].argmax())

    def told(self, until: int) -> dict[str, int]:
        """All that was spent, where the path was left at tick `until`."""
        for number, ticks in enumerate(self._of_op.tolist()):
            op = self.program.ops[number]
            self.spent[f"{op.opcode} on {op.engine}"] += ticks
        self._of_op[:] = 0
        if until:
            self.spent["earlier instructions"] += until
        return {name: ticks for name, ticks in self.spent.items() if ticks}

    def walk(self, number: int, until: int, stops: Container[int] = ()) -> tuple[int, int]:
        """Back from tick `until`, when instruction `number` ended, to the launch or the start of one of
        `stops`. Returns that instruction, -1 at the launch, and the tick.
        """
        schedule = self.schedule
        while number >= 0:
            if schedule.cause[number] == TURN and number not in stops:
                # Back to the one of its queue that waited for something else than its turn.
                mine = self._lines.back(number)
                self._of_op[self._ops[number]] += until - schedule.start[number]
                np.add.at(self._of_op, self._ops[mine[1:-1]], np.diff(self._start[mine[1:]]))
                until, number = schedule.start[int(mine[1])], int(mine[0])
            self._of_op[self._ops[number]] += until - schedule.start[number]
            until = schedule.start[number]
            if number in stops:
                return number, until
            number, until = self.before(number, until, schedule.cause[number])
        return number, until

    def spend(self, at: int, ticks: int) -> None:
        """On instruction `at`."""
        self._of_op[self._ops[at]] += ticks

    def before(self, at: int, until: int, cause: int) -> tuple[int, int]:
        """Whom `at`, which started at tick `until`, waited for because of `cause`, and until when."""
        if cause >= 0:
            source = Dep.of(cause).source
            self.spent["semaphores"] += max(until - self.schedule.end[source], 0)
            return source, min(until, self.schedule.end[source])
        if cause == LAUNCHED:
            return -1, until
        if cause == TURN:
            return self._lines.previous(at), until
        return self._rival(at, until), until

    def _rival(self, at: int, until: int) -> int:
        """Whoever held the memory until this one could begin."""
        for each in range(at - 1, -1, -1):
            if self.schedule.issued[each] == until and self.schedule.start[each] < until:
                return each
        return -1


class _Lines:
    """Instructions of each queue in order."""

    def __init__(self, queues: Ints, cause: Ints) -> None:
        self.of = queues
        self.members: dict[int, Ints] = {}
        self.place = np.zeros(len(queues), np.int64)
        self.first = np.zeros(len(queues), np.int64)
        for queue in range(len(QUEUES)):
            mine = self.members[queue] = np.flatnonzero(queues == queue)
            places = np.arange(len(mine))
            self.place[mine] = places
            self.first[mine] = np.maximum.accumulate(np.where(cause[mine] == TURN, 0, places))

    def back(self, at: int) -> Ints:
        """Those of its queue up to instruction `at`, from the last one on that did not wait for its turn."""
        return self.members[int(self.of[at])][self.first[at] : self.place[at] + 1]

    def previous(self, at: int) -> int:
        """The one before `at` in its queue, -1 for the first."""
        place = int(self.place[at])
        return int(self.members[int(self.of[at])][place - 1]) if place else -1
