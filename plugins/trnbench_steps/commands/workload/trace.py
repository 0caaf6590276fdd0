"""One layer of each kind and one step on a line of time, for trace viewers, and as a file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from trnbench.generation import System
from trnbench.run.output_file import write_whole
from trnbench.terminal.output import say
from trnbench_emulator import ticks_up
from trnbench_emulator.trace import Slice, Timeline, write_trace
from trnbench_steps.division import Division
from trnbench_steps.own_kernels import OwnKernels
from trnbench_steps.step import Composition, StepModel
from trnbench_steps.step_constants import constants_of
from trnbench_steps.step_parts import BASE
from trnbench_steps.step_request import StepRequest
from trnbench_steps.stretches import Event

if TYPE_CHECKING:
    from trnbench import Run
    from trnbench.run.plan import Plan

MISSING = "constants stand behind the operators of a layer, and the parts of a step one behind the other"
LIMIT = 64 << 20
"""Bytes of the file, at most."""


def step_timeline(division: Division, system: System, own: OwnKernels) -> Timeline:
    """Every operator and collective of a layer, pass by pass, and then what the constants add; and the parts
    of the step, which add up to its time. Raises what composing a step raises."""
    composition, constants = Composition(StepModel(), division, system, own), constants_of(system)
    processes, slices = {0: f"a step of {division.model.name} on {system.name}"}, []
    time = composition.parts().time(constants)
    slices += _row(0, "step", (Event(name, name, spent) for name, spent in time.parts.items()))
    for kind, count in enumerate(division.model.counts):
        process = kind + 1
        processes[process] = f"one of {count} layers of kind {process}"
        start = 0
        for name, operators in composition.passes(kind):
            stretches = composition.stretches(operators)
            series = stretches.series()
            added = [
                Event(part, part, spent)
                for part, spent in series.parts(constants).items()
                if part not in BASE and spent
            ]
            for event in (*stretches.events, *added):
                duration = ticks_up(event.seconds)
                told = {"part": event.part, "seconds": event.seconds, "pass": name}
                slices.append(Slice(process, event.part, event.name, start, duration, told))
                start += duration
    return Timeline(processes=processes, slices=slices, tracks=("step", *BASE), missing=MISSING)


def _row(process: int, track: str, events: Iterable[Event]) -> list[Slice]:
    made, start = [], 0
    for event in events:
        duration = ticks_up(event.seconds)
        made.append(Slice(process, track, event.name, start, duration, {"seconds": event.seconds}))
        start += duration
    return made


def write_step_trace(planned: Plan, done: Run, target: Path) -> None:
    """Of the first case that has a time; nothing where none has."""
    times = {
        measurement.id: measurement.time_s
        for measurement in done.measurements
        if measurement.time_s is not None
    }
    case = next((each for each in planned.cases if each.id in times), None)
    if case is None or not isinstance(case.kernel.subject, StepRequest):
        return
    system = planned.systems[case.key.instance]
    asked, point = case.kernel.subject, case.key.point
    timeline = step_timeline(asked.at(point), system, asked.own(point))
    about = {"tool": f"trnbench {done.tool_version}", "run": done.id, "case": case.id}
    file = write_trace(
        timeline, evidence="emulated", about={**about, "latency_s": times[case.id] or 0.0}, cap=LIMIT
    )
    write_whole(target, file.data, option="--trace")
    say(f"{target}: {file.kept:,} slices of {case.id}; open it at ui.perfetto.dev", level=0)
    if file.said:
        say(f"note: {file.said}")
