"""The programs of one launch (SPMD): each on a core of its own. They meet where the kernel says so.

A meeting is a call that all programs make, in one order: `core_barrier` or `sendrecv`. Each core tells the
others by a semaphore, which they see `signal` later. A barrier ends when all have told; an exchange begins
when all have come, and ends when the slowest of its transfers has.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

import msgspec
import numpy as np

from trnbench.compiler import AS_SHIPPED, Assumptions
from trnbench.emulator.core.builder import Builder
from trnbench.emulator.core.core import MET, Core
from trnbench.emulator.core.critical import Path
from trnbench.emulator.core.pace import NOTHING_REMOVED, Pace, Without
from trnbench.emulator.core.program import Program
from trnbench.emulator.core.scheduler import Schedule
from trnbench.emulator.core.steady import Folding
from trnbench.errors import KernelError
from trnbench.nki import Machine, record
from trnbench.nki.recorder import DEFAULT_LIMIT

BARRIER, EXCHANGE = "core_barrier", "sendrecv"
MEETINGS = (BARRIER, EXCHANGE)
WAITING = "waiting for other programs"


class Wait(NamedTuple):
    """At one meeting, in ticks: when the program could have gone on alone, because of what, and when it did.
    `tells`: when it has told the others that it has come; they see it a signal later.
    """

    ready: int
    start: int
    cause: int
    tells: int

    @property
    def waited(self) -> bool:
        return self.start > self.ready


class Together(msgspec.Struct, kw_only=True):
    """`schedules` of all programs; `waits` of each by the instruction that is the meeting."""

    schedules: tuple[Schedule, ...]
    waits: tuple[dict[int, Wait], ...]

    @property
    def total(self) -> int:
        """Ticks from the beginning of all to the end of the last."""
        return max(each.total for each in self.schedules)

    @property
    def last(self) -> int:
        """The program that ends last; of several the one that waited least, the first of these."""
        return max(
            range(len(self.schedules)),
            key=lambda number: (self.schedules[number].total, -self.waited(number), -number),
        )

    def waited(self, program: int) -> int:
        """Ticks that a program has waited for others."""
        return sum(each.start - each.ready for each in self.waits[program].values())

    def path(self) -> dict[str, int]:
        """The critical path by cause, in ticks, from program to program; adds up to `total`."""
        if not self.total:
            return {}
        paths = [Path(each) if len(each.program) else None for each in self.schedules]
        number = self.last
        path = paths[number]
        assert path is not None
        at = path.last()
        until = self.total
        while True:
            late = {each for each, wait in self.waits[number].items() if wait.waited}
            at, until = path.walk(at, until, late)
            if at < 0:
                break
            # A barrier's own part comes before the wait, though its queue goes on from there.
            own = self.waits[number][at].tells - self.waits[number][at].ready
            path.spend(at, -own)
            until += own
            # On to the program that came last: what held that one up held up this one.
            turn = list(self.waits[number]).index(at)
            others = [each for each in range(len(paths)) if each != number]
            found = {each: list(self.waits[each].items())[turn] for each in others}
            number = max(others, key=lambda each: (found[each][1].tells, -each))
            meeting, wait = found[number]
            told = min(until, wait.tells)
            path.spent[WAITING] += until - told
            path = paths[number]
            assert path is not None
            ready = min(wait.ready, told)
            path.spend(meeting, told - ready)
            at, until = path.before(meeting, ready, wait.cause)
        spent = Counter({"earlier instructions": until})
        for each in paths:
            spent.update(each.told(0) if each is not None else {})
        return {name: ticks for name, ticks in spent.items() if ticks}


def record_programs(
    kernel: Any,
    args: Sequence[Any],
    machine: Machine,
    *,
    count: int,
    kwargs: dict[str, Any] | None = None,
    limit: int = DEFAULT_LIMIT,
    fold: bool = True,
    assumptions: Assumptions = AS_SHIPPED,
) -> tuple[Program, ...]:
    """`count` programs of one launch, with shapes only, as the compiler leaves them.

    Raises `KernelError` for what the kernel does wrong, among it meetings that are not the same for all.
    """
    found = []
    for number in range(count):
        builder = Builder(machine)
        made = record(
            kernel, args, kwargs,
            machine=machine, sink=builder, limit=limit, fold=fold, program=number, assumptions=assumptions,
        )  # fmt: skip
        builder.program.assumed = made.assumed
        # Grids of Beta 1 deal their programs to cores.
        builder.program.shares = made.asked or not getattr(kernel, "grid", 0)
        found.append(builder.program)
    for number in range(1, count):
        _check_alike(found[0], found[number], number)
    return tuple(found)


def schedule_together(
    programs: Sequence[Program],
    pace: Pace,
    *,
    signal: int,
    without: Without = NOTHING_REMOVED,
    fold: bool = True,
    waiting: bool = True,
) -> Together:
    """When each instruction of each program starts and ends.

    `signal`: ticks until one core sees what another tells it. Programs that are alike are scheduled once.
    With `waiting=False` nobody waits for another program, and no signal takes time.
    """
    alike = _alike(programs)
    cores = {number: Core(programs[number], pace, without) for number in dict.fromkeys(alike)}
    walks = {number: Folding(core) if fold else core for number, core in cores.items()}
    stops = {number: meetings(programs[number]) for number in cores} if waiting and len(programs) > 1 else {}
    waits: dict[int, dict[int, Wait]] = {number: {} for number in cores}
    at = dict.fromkeys(cores, 0)
    for turn in range(len(next(iter(stops.values()), ()))):
        here = {number: stops[number][turn] for number in cores}
        for number in cores:
            walks[number].advance(at[number], here[number])
            at[number] = here[number] + 1
        found = _meet(cores, here, alike, signal)
        for number, wait in found.items():
            waits[number][here[number]] = wait
    for number, core in cores.items():
        walks[number].advance(at[number], len(core.program))
    made = {number: _schedule(core) for number, core in cores.items()}
    return Together(
        schedules=tuple(made[number] for number in alike),
        waits=tuple(waits[number] for number in alike),
    )


def meetings(program: Program) -> list[int]:
    """Instructions at which a program meets the others."""
    ops = [number for number, op in enumerate(program.ops) if op.opcode in MEETINGS]
    if not ops:
        return []
    found: list[int] = np.flatnonzero(np.isin(np.frombuffer(program.op, np.uint32), ops)).tolist()
    return found


def _meet(cores: dict[int, Core], here: dict[int, int], alike: Sequence[int], signal: int) -> dict[int, Wait]:
    """Carry out the meeting `here` on all cores at once."""
    first = next(iter(cores))
    barrier = cores[first].program.ops[cores[first].program.op[here[first]]].opcode == BARRIER
    alone = {number: _alone(core, here[number]) for number, core in cores.items()}
    # At a barrier a core tells the others once it is done with its own part of it.
    tells = {number: done if barrier else ready for number, (ready, done, _) in alone.items()}
    waits = {}
    for number, core in cores.items():
        ready, done, cause = alone[number]
        others = [tells[each] for at, each in enumerate(alike) if at != alike.index(number)]
        start = max(ready, max(others) + signal - (done - ready if barrier else 0))
        queue = core.plain[core.op[here[number]]][0]
        if start > ready:
            core.free[queue] = start
        core.advance(here[number], here[number] + 1)
        if start > ready:
            core.cause[here[number]] = MET
        waits[number] = Wait(ready, start, cause, tells[number])
    if not barrier:
        end = max(core.end[here[number]] for number, core in cores.items())
        for number, core in cores.items():
            queue = core.plain[core.op[here[number]]][0]
            core.end[here[number]] = core.last[queue] = end
    return waits


def _alone(core: Core, number: int) -> tuple[int, int, int]:
    """When instruction `number`, the next of `core`, would start and let its queue go, and what it would wait
    for. Nothing is changed.
    """
    twin = copy.copy(core)
    for name, value in vars(core).items():
        if isinstance(value, list) and name != "plain":
            setattr(twin, name, [list(each) if isinstance(each, list) else each for each in value])
    twin.used = dict(core.used)
    twin.advance(number, number + 1)
    return twin.start[number], twin.issued[number], twin.cause[number]


def _schedule(core: Core) -> Schedule:
    return Schedule(
        program=core.program,
        total=core.total,
        busy=core.busy(),
        start=core.start,
        issued=core.issued,
        end=core.end,
        cause=core.cause,
    )


# Which programs are alike -----------------------------------------------------------------------


def _alike(programs: Sequence[Program]) -> tuple[int, ...]:
    """For each program the first that does the same."""
    seen: dict[Any, int] = {}
    return tuple(seen.setdefault(_content(each), number) for number, each in enumerate(programs))


def _content(program: Program) -> tuple[Any, ...]:
    arrays = (program.op, program.place, program.first, program.deps)
    banks = (program.psum.refs, program.psum.first, program.psum.sizes)
    return (
        tuple((op.key(), tuple(sorted(op.traffic.items()))) for op in program.ops),
        tuple(program.places),
        *(each.tobytes() for each in (*arrays, *banks)),
        tuple(program.runs),
    )


def _check_alike(one: Program, other: Program, number: int) -> None:
    """Do programs 0 and `number` meet in one order?"""
    ours, theirs = meetings(one), meetings(other)
    for turn, (here, there) in enumerate(zip(ours, theirs, strict=False), start=1):
        if _what(one, here) != _what(other, there):
            raise KernelError(
                f"meeting {turn} of the launch is {_told(one, here)} in program 0 and {_told(other, there)} "
                f"in program {number}",
                cause="programs that meet in different orders wait for each other without end",
                try_="make the same calls of core_barrier and sendrecv in the same order in every program",
            )
    if len(ours) != len(theirs):
        waits, program, missing = (0, one, number) if len(ours) > len(theirs) else (number, other, 0)
        place = _told(program, max(ours, theirs, key=len)[min(len(ours), len(theirs))])
        raise KernelError(
            f"program {waits} waits at {place} for program {missing}, which has ended",
            cause="nisa.core_barrier and nisa.sendrecv are calls that all programs have to make",
        )


def _what(program: Program, at: int) -> tuple[str, Any]:
    op = program.ops[program.op[at]]
    return op.opcode, op.variables.get("pipe")


def _told(program: Program, at: int) -> str:
    opcode, pipe = _what(program, at)
    file, line = program.places[program.place[at]]
    which = "" if pipe is None else f", pipe {pipe}"
    return f"nisa.{opcode}{which} ({PurePath(file).name}:{line})"
