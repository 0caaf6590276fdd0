"""The schedule of a launch: where its programs wait for each other, and when each instruction runs."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from trnbench_emulator.core.core import MET, Core
from trnbench_emulator.core.pace import NOTHING_REMOVED, Pace, Without
from trnbench_emulator.core.pieces import marks_of, whole
from trnbench_emulator.core.recording import BARRIER, Recording, rendezvous_of
from trnbench_emulator.core.scheduler import Path, Schedule, schedule

WAITING = "waiting for other programs"


class Wait(NamedTuple):
    """At one rendezvous, in ticks: when the program could have gone on alone, because of what, and when it
    did. `tells`: when it has told the others that it has come; they see it a signal later.
    """

    ready: int
    start: int
    cause: int
    tells: int

    @property
    def waited(self) -> bool:
        return self.start > self.ready


def meet(cores: dict[int, Core], here: dict[int, int], of: Sequence[int], signal: int) -> dict[int, Wait]:
    """Carry out a rendezvous on all `cores` at once: instruction `here` of each. Program i runs as that of
    core `of[i]` does.
    """
    first = next(iter(cores))
    barrier = cores[first].program.ops[cores[first].program.op[here[first]]].opcode == BARRIER
    alone = {number: _alone(core, here[number]) for number, core in cores.items()}
    # At a barrier a core tells the others once it is done with its own part of it.
    tells = {number: done if barrier else ready for number, (ready, done, _) in alone.items()}
    waits = {}
    for number, core in cores.items():
        ready, done, cause = alone[number]
        others = [tells[core_of] for program, core_of in enumerate(of) if program != of.index(number)]
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
            setattr(twin, name, [list(clock) if isinstance(clock, list) else clock for clock in value])
    twin.used = dict(core.used)
    twin.advance(number, number + 1)
    return twin.start[number], twin.issued[number], twin.cause[number]


class LaunchSchedule(msgspec.Struct, kw_only=True):
    """`schedules` of all programs; `waits` of each by the instruction that is the rendezvous. `whole`: of
    each program the ticks and what was busy how long, of the whole problem where it was recorded in pieces.
    """

    schedules: tuple[Schedule, ...]
    waits: tuple[dict[int, Wait], ...]
    whole: tuple[tuple[int, dict[str, int]], ...]

    @property
    def memory(self) -> int:
        """Bytes that the ticks of all instructions take here."""
        several = {id(schedule): schedule for schedule in self.schedules}.values()
        columns = (column for s in several for column in (s.start, s.issued, s.end, s.cause))
        return sum(len(column) * column.itemsize for column in columns)

    @property
    def total(self) -> int:
        """Ticks from the beginning of all to the end of the last."""
        return max(program.total for program in self.schedules)

    @property
    def whole_total(self) -> int:
        """The same of the whole problem."""
        return max(ticks for ticks, _ in self.whole)

    @property
    def last(self) -> int:
        """The program that ends last; of several the one that waited least, the first of these."""
        return max(
            range(len(self.schedules)),
            key=lambda number: (self.schedules[number].total, -self.waited(number), -number),
        )

    def waited(self, program: int) -> int:
        """Ticks that a program has waited for others."""
        return sum(wait.start - wait.ready for wait in self.waits[program].values())

    def path(self) -> dict[str, int]:
        """The critical path by cause, in ticks, from program to program; adds up to `total`."""
        if not self.total:
            return {}
        number = self.last
        paths = [Path(scheduled) if len(scheduled.program) else None for scheduled in self.schedules]
        path = paths[number]
        assert path is not None
        position = path.last()
        until = self.total
        while True:
            late = {instruction for instruction, wait in self.waits[number].items() if wait.waited}
            position, until = path.walk(position, until, late)
            if position < 0:
                break
            # A barrier's own part comes before the wait, though its queue goes on from there.
            own = self.waits[number][position].tells - self.waits[number][position].ready
            path.spend(position, -own)
            until += own
            # On to the program that came last: what held that one up held up this one.
            turn = list(self.waits[number]).index(position)
            others = [other for other in range(len(paths)) if other != number]
            there = {other: list(self.waits[other].items())[turn] for other in others}
            number = max(others, key=lambda other: (there[other][1].tells, -other))
            instruction, wait = there[number]
            signal = min(until, wait.tells)
            path.spent[WAITING] += until - signal
            path = paths[number]
            assert path is not None
            ready = min(wait.ready, signal)
            path.spend(instruction, signal - ready)
            position, until = path.before(instruction, ready, wait.cause)
        spent = Counter[str]()
        for trail in paths:
            spent.update(trail.told() if trail is not None else {})
        spent["earlier instructions"] += until
        return {name: ticks for name, ticks in spent.items() if ticks}


def schedule_launch(
    recording: Recording,
    pace: Pace,
    *,
    signal: int = 0,
    without: Without = NOTHING_REMOVED,
    waiting: bool = True,
) -> LaunchSchedule:
    """`signal`: ticks until one core sees what another tells it. Programs of one equivalence class are
    scheduled once. With `waiting=False` nobody waits for another program, and no signal takes time.
    """
    programs, of = recording.programs, recording.representatives
    waiting = waiting and len(programs) > 1
    stops = {number: rendezvous_of(programs[number]) for number in of} if waiting else {}
    waits: dict[int, dict[int, Wait]] = {number: {} for number in of}
    if any(stops.values()):
        schedules = _with_rendezvous(recording, pace, of, stops, waits, signal, without)
    else:
        marks = marks_of(recording.pieces)
        schedules = {
            number: schedule(programs[number], pace, without=without, marks=marks)
            for number in dict.fromkeys(of)
        }
    return LaunchSchedule(
        schedules=tuple(schedules[number] for number in of),
        waits=tuple(waits[number] for number in of),
        whole=tuple(
            whole(schedules[number].done, schedules[number].marks, recording.pieces) for number in of
        ),
    )


def _with_rendezvous(
    recording: Recording,
    pace: Pace,
    of: tuple[int, ...],
    stops: dict[int, list[int]],
    waits: dict[int, dict[int, Wait]],
    signal: int,
    without: Without,
) -> dict[int, Schedule]:
    """From rendezvous to rendezvous, all cores side by side; fills `waits`."""
    cores = {number: Core(recording.programs[number], pace, without) for number in dict.fromkeys(of)}
    done = dict.fromkeys(cores, 0)
    for turn in range(len(stops[of[0]])):
        here = {number: stops[number][turn] for number in cores}
        for number in cores:
            cores[number].advance(done[number], here[number])
            done[number] = here[number] + 1
        for number, wait in meet(cores, here, of, signal).items():
            waits[number][here[number]] = wait
    for number, core in cores.items():
        core.advance(done[number], len(core.program))
    return {number: Schedule.of(core) for number, core in cores.items()}
