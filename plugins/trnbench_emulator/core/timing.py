"""The timed core: a kernel, its arguments, a system and a launch give a `Timing`. There is no other way."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any

from trnbench.generation import System
from trnbench.record import Record
from trnbench_emulator import seconds, ticks
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.core.launch import LaunchSchedule, schedule_launch
from trnbench_emulator.core.memo import Memo
from trnbench_emulator.core.pace import Pace
from trnbench_emulator.core.pieces import Parts
from trnbench_emulator.core.program import Program
from trnbench_emulator.core.recording import ALONE, Arguments, Launch, Recorder, Recording, rendezvous_of
from trnbench_emulator.core.scheduler import Schedule
from trnbench_emulator.core.waterfall import waterfall_of
from trnbench_emulator.nki import Machine


class ProgramTime(Record, kw_only=True):
    """One program of a launch, on a core of its own. `latency_s`: from the launch of all to its own end;
    `waited_s`: of that, for other programs. `busy_s`: seconds per engine.
    """

    program: int
    latency_s: float
    waited_s: float
    bound: str
    instructions: int
    busy_s: dict[str, float]


class Timing(Record, kw_only=True, dict=True):
    """`total` ticks from the first instruction to the end of the last program, `last`, after `launch` ticks
    in which it was launched. `waterfall`, in seconds, begins with the time at the peak and adds up to
    `latency_s`; it is empty unless it was asked for. `recording` and `scheduled` are what all of it was found
    from: the whole problem, or a few copies of each of its pieces.
    """

    total: int
    launch: int
    programs: tuple[ProgramTime, ...]
    last: int
    waterfall: tuple[tuple[str, float], ...]
    notes: tuple[str, ...]
    recording: Recording
    scheduled: LaunchSchedule

    @property
    def memory(self) -> int:
        """Bytes that it takes here."""
        return self.recording.memory + self.scheduled.memory

    @property
    def latency_s(self) -> float:
        """From the launch to the end of the last program."""
        return seconds(self.total + self.launch)

    @property
    def launch_s(self) -> float:
        return seconds(self.launch)

    @property
    def slowest(self) -> ProgramTime:
        return self.programs[self.last]

    @property
    def bound(self) -> str:
        """What keeps the last program busy longest."""
        return self.slowest.bound

    @property
    def busy_s(self) -> dict[str, float]:
        """Of the last program: seconds by engine, queue, DMA and memory."""
        return self.slowest.busy_s

    @property
    def schedule(self) -> Schedule:
        """Of the last program, in ticks from the end of the launch."""
        return self.scheduled.schedules[self.last]

    @property
    def imbalance(self) -> float:
        """How much longer the last program takes than all do on average, as a share of that; 0 is even."""
        ends = [program.latency_s - self.launch_s for program in self.programs]
        mean = sum(ends) / len(ends)
        return max(ends) / mean - 1 if mean else 0.0

    @cached_property
    def strip(self) -> dict[str, str]:
        """Of the last program, how busy each engine's queue was: `Schedule.strip`."""
        return self.schedule.strip()

    @cached_property
    def bytes(self) -> dict[str, int]:
        """By memory and direction, of all programs."""
        return self.recording.traffic()

    @cached_property
    def path(self) -> tuple[tuple[str, float], ...]:
        """The critical path by cause, from program to program; adds up to `latency_s`."""
        path = self.scheduled.path()
        if self.total > self.scheduled.total:
            path["the same again for other pieces"] = self.total - self.scheduled.total
        path["launch"] = self.launch
        return tuple((name, seconds(spent)) for name, spent in path.items() if spent)

    @cached_property
    def lines(self) -> dict[tuple[str, int], float]:
        """Of the last program: how long each line (file, number) kept its engines busy."""
        return {line: seconds(spent) for line, spent in self.schedule.by_place().items()}


SIGNAL = "core-signal-latency"
"""The assumption that gives the time until a core sees a semaphore that another core has written."""

SAME = "the kernel never asks for nl.program_id: each program does the whole problem"


class KernelModel:
    """Kernels are recorded once for a machine, and scheduled once for equal costs.

    `like`: a model that has loaded costs, and whose recordings and times this one does not keep alive.
    """

    def __init__(self, recorder: Recorder | None = None, like: KernelModel | None = None) -> None:
        self.recorder = recorder or Recorder()
        self._tables: dict[int, tuple[System, CostTable, Machine]] = {} if like is None else like._tables
        self._timed: Memo[Timing] = Memo(attrgetter("memory"))

    def time(
        self,
        kernel: Any,
        arguments: Arguments,
        system: System,
        launch: Launch = ALONE,
        *,
        parts: Parts = (),
    ) -> Timing:
        """`parts`: what the problem of a single program consists of.

        Raises `KernelError` for what the kernel does wrong, `FactError` where a cost is missing.
        """
        recording = self.recorder.of(kernel, arguments, self.machine(system), launch, parts)
        return self.known(recording, system, launch)

    def known(self, recording: Recording, system: System, launch: Launch = ALONE) -> Timing:
        """Of what was recorded already.

        Systems with the same core take the same time, and so do data types of one size at one rate: it is
        found once for all of them, and kept: `Timing.recording` may be of another one. Raises `FactError`.
        """
        pace = self._pace(recording, system, launch)
        asked = (launch.without, launch.held, launch.explain)
        key = (recording.classes, recording.pieces, asked, tuple(map(pace.key, recording.programs)))
        timing = self._timed.get(key)
        if timing is None:
            timing = self._timed.keep(key, _timing(recording, pace, launch))
        return timing

    def timing(self, recording: Recording, system: System, launch: Launch = ALONE) -> Timing:
        """The same of what was recorded already; not kept. Raises `FactError`."""
        return _timing(recording, self._pace(recording, system, launch), launch)

    def _pace(self, recording: Recording, system: System, launch: Launch) -> Pace:
        return Pace(self.table(system), sharing=_sharing(recording.programs, launch.cores))

    def table(self, system: System) -> CostTable:
        return self._core(system)[1]

    def machine(self, system: System) -> Machine:
        return self._core(system)[2]

    def _core(self, system: System) -> tuple[System, CostTable, Machine]:
        core = self._tables.get(id(system))
        if core is None or core[0] is not system:
            core = self._tables[id(system)] = (system, CostTable(system), Machine.of(system))
        return core


def _timing(recording: Recording, pace: Pace, launch: Launch) -> Timing:
    programs = recording.programs
    launch_ticks = ticks(pace.table.launch_s)
    meet = len(programs) > 1 and any(map(rendezvous_of, programs))
    signal = ticks(pace.assumed.value(SIGNAL)) if meet else 0
    launched = schedule_launch(recording, pace, signal=signal, without=launch.without)
    waterfall: Sequence[tuple[str, int]] = ()
    if launch.explain:
        waterfall = waterfall_of(recording, pace, launched, launch=launch_ticks, held=launch.held)
    asked_for_itself = len(programs) == 1 or any(program.shares for program in programs)
    return Timing(
        total=launched.whole_total,
        launch=launch_ticks,
        programs=tuple(
            ProgramTime(
                program=number,
                latency_s=seconds(end + launch_ticks),
                waited_s=seconds(launched.waited(number)),
                bound=_bound(end, busy, launch_ticks),
                instructions=len(programs[number]),
                busy_s={name: seconds(spent) for name, spent in busy.items()},
            )
            for number, (end, busy) in enumerate(launched.whole)
        ),
        last=launched.last,
        waterfall=tuple((name, seconds(spent)) for name, spent in waterfall),
        notes=(*(() if asked_for_itself else (SAME,)), *pace.assumed.notes()),
        recording=recording,
        scheduled=launched,
    )


def _bound(end: int, busy: dict[str, int], launch: int) -> str:
    """What is busy longest, or the launch that takes longer than all of it."""
    longest = max(busy, key=lambda name: (busy[name], name), default="launch")
    return "launch" if launch > end else longest


def _sharing(programs: Sequence[Program], cores: int) -> int:
    """Cores that share the device's memory: of each launch those whose program uses it."""
    using = sum(
        any(name.startswith("hbm") for op in program.ops for name in op.traffic) for program in programs
    )
    return max((cores or len(programs)) // len(programs) * using, 1)
