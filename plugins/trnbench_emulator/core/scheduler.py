"""One pass over a program: when each instruction starts and ends, and what it waited for."""

from __future__ import annotations

from array import array

import msgspec
import numpy as np
import numpy.typing as npt

from trnbench_emulator.core.core import Core, Ticks
from trnbench_emulator.core.critical import Path
from trnbench_emulator.core.pace import NOTHING_REMOVED as NOTHING_REMOVED
from trnbench_emulator.core.pace import Pace, Without
from trnbench_emulator.core.program import (
    GPSIMD,
    GPSIMD_RING,
    LOAD,
    QUEUES,
    SCALAR_RING,
    STORE,
    Program,
)  # fmt: skip
from trnbench_emulator.core.steady import Folding
from trnbench_emulator.core.trigger import SYNC

Ints = npt.NDArray[np.int64]

STRIP_ROWS = {
    **{name: (queue,) for queue, name in enumerate(QUEUES[:GPSIMD])},
    "gpsimd": (GPSIMD, GPSIMD_RING),
    SYNC: (LOAD, STORE),
    "scalar triggers": (SCALAR_RING,),
}
"""Rows of a strip, and the queues that keep each busy."""

STRIP_SPANS = 40
"""Equal spans of the time that a strip tells apart."""


class Mark(msgspec.Struct, frozen=True):
    """Somewhere in a program: when everything before it has ended, and what was busy how long. `last`: by
    queue, when the last of its instructions has ended."""

    total: int
    busy: dict[str, int]
    last: tuple[int, ...]

    @classmethod
    def of(cls, core: Core) -> Mark:
        return cls(core.total, core.busy(), tuple(core.last))


class Schedule(msgspec.Struct, kw_only=True):
    """Ticks of every instruction of `program`. `cause`: the dependency it waited for longest (as in
    `Program.deps`), TURN of its queue, EXCLUDED from a memory, or LAUNCHED. `marks`: the end of all
    instructions before each of the positions asked for, `done`: of all.
    """

    program: Program
    done: Mark
    ticks: Ticks
    marks: tuple[Mark, ...] = ()

    @classmethod
    def of(cls, core: Core, marks: tuple[Mark, ...] = ()) -> Schedule:
        """What a core has done by now."""
        return cls(
            program=core.program,
            done=Mark.of(core),
            ticks=core.ticks,
            marks=marks,
        )

    @property
    def start(self) -> array[int]:
        return self.ticks.start

    @property
    def issued(self) -> array[int]:
        return self.ticks.issued

    @property
    def end(self) -> array[int]:
        return self.ticks.end

    @property
    def cause(self) -> array[int]:
        return self.ticks.cause

    @property
    def total(self) -> int:
        """When all has ended."""
        return self.done.total

    @property
    def busy(self) -> dict[str, int]:
        """What was busy how long."""
        return self.done.busy

    def path(self) -> dict[str, int]:
        """The critical path by cause, in ticks; adds up to `total`."""
        return Path(self).whole() if len(self.program) else {}

    def strip(self, parts: int = STRIP_SPANS) -> dict[str, str]:
        """How busy each engine's queue was in `parts` equal spans: one digit each, 9 is all of it."""
        width = max(-(-self.total // parts), 1)
        bounds = np.arange(parts + 1, dtype=np.int64) * width
        starts, issues = np.frombuffer(self.start, np.int64), np.frombuffer(self.issued, np.int64)
        queues = self.queues()
        rows = {}
        for name, shown in STRIP_ROWS.items():
            row = np.zeros(parts, np.int64)
            for queue in shown:
                mine = queues == queue
                start, end = starts[mine], issues[mine]
                if not (end > start).any():
                    continue
                # Busy until a moment: all that began before it, less what the last of these has left.
                sums = np.concatenate(([0], np.cumsum(end - start)))
                begun = np.searchsorted(start, bounds)
                left = np.where(begun > 0, end[begun - 1] - bounds, 0)
                row += np.diff(sums[begun] - np.maximum(left, 0))
            if row.any():
                rows[name] = "".join(str(min(9 * ticks // width, 9)) for ticks in row.tolist())
        return rows

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
    fold: bool = True,
    over: Schedule | None = None,
) -> Schedule:
    """When each instruction starts and ends on a core. `fold`: rounds of a loop that repeat what the rounds
    before did, to the tick, are not carried out one by one; the result is the same. `over`: a schedule of the
    program that nobody needs any more, whose ticks are overwritten.
    """
    core = Core(program, pace, without, over.ticks if over is not None else None)
    folding = Folding(core) if fold else None
    marked: list[Mark] = []
    begin = 0
    for until in (*marks, len(program)):
        if folding is not None:
            folding.advance(begin, until)
        else:
            core.advance(begin, until)
        marked.append(Mark.of(core))
        begin = until
    return Schedule.of(core, tuple(marked[:-1]))
