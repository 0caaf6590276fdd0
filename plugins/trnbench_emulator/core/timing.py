"""What a launch takes, and where its time goes: the one result of the timed core."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from trnbench_emulator.clock import seconds

if TYPE_CHECKING:
    from trnbench_emulator.core.launch_schedule import LaunchSchedule
    from trnbench_emulator.core.recording import Recording
    from trnbench_emulator.core.scheduler import Schedule


class ProgramTime(msgspec.Struct, frozen=True, kw_only=True):
    """One program of a launch, on a core of its own. `latency_s`: from the launch of all to its own end;
    `waited_s`: of that, for other programs. `busy_s`: seconds per engine.
    """

    program: int
    latency_s: float
    waited_s: float
    bound: str
    instructions: int
    busy_s: dict[str, float]


class Timing(msgspec.Struct, frozen=True, kw_only=True, dict=True):
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
        return {place: seconds(spent) for place, spent in self.schedule.by_place().items()}
