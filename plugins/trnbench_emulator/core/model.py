"""The timed core: a kernel, its arguments, a system and a launch give a `Timing`. There is no other way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trnbench.generation import System
from trnbench_emulator.clock import seconds, ticks
from trnbench_emulator.core.costs import CostTable
from trnbench_emulator.core.launch import ALONE, Launch
from trnbench_emulator.core.launch_schedule import schedule_launch
from trnbench_emulator.core.pace import Pace
from trnbench_emulator.core.pieces import Parts
from trnbench_emulator.core.program import Program
from trnbench_emulator.core.recording import Arguments, Recorder, Recording
from trnbench_emulator.core.rendezvous import rendezvous_of
from trnbench_emulator.core.timing import ProgramTime, Timing
from trnbench_emulator.core.waterfall import waterfall_of
from trnbench_emulator.nki import Machine

SIGNAL = "core-signal-latency"
"""The assumption that gives the time until a core sees a semaphore that another core has written."""

SAME = "the kernel never asks for nl.program_id: each program does the whole problem"


class KernelModel:
    """Kernels are recorded once for a machine, and scheduled once for equal costs."""

    def __init__(self, recorder: Recorder | None = None) -> None:
        self.recorder = recorder or Recorder()
        self._tables: dict[int, tuple[System, CostTable, Machine]] = {}
        self._timed: dict[Any, Timing] = {}

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

        Systems with the same core take the same time, and so do data types of one size at one rate: it is
        found once for all of them, and kept. Raises `KernelError` for what the kernel does wrong, `FactError`
        where a cost is missing.
        """
        recording = self.recorder.of(kernel, arguments, self.machine(system), launch, parts)
        pace = self._pace(recording, system, launch)
        asked = (launch.without, launch.held, launch.explain, launch.fold)
        key = (recording.classes, recording.pieces, asked, tuple(map(pace.key, recording.programs)))
        timing = self._timed.get(key)
        if timing is None:
            timing = self._timed[key] = _timing(recording, pace, launch)
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
    launched = schedule_launch(recording, pace, signal=signal, without=launch.without, fold=launch.fold)
    waterfall: Sequence[tuple[str, int]] = ()
    if launch.explain:
        waterfall = waterfall_of(
            recording, pace, launched, launch=launch_ticks, held=launch.held, fold=launch.fold
        )
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
