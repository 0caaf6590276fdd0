"""One layer of each kind and one step on a line of time, for trace viewers."""

from __future__ import annotations

from collections.abc import Iterable

from trnbench.generation import System
from trnbench_emulator.clock import ticks_up
from trnbench_emulator.trace import Slice, Timeline
from trnbench_steps.division import Division
from trnbench_steps.own_kernels import NONE_OWN, OwnKernels
from trnbench_steps.step import Composition, StepModel
from trnbench_steps.step_constants import StepConstants
from trnbench_steps.step_parts import BASE
from trnbench_steps.stretches import Event

MISSING = "constants stand behind the operators of a layer, and the parts of a step one behind the other"


def step_timeline(
    model: StepModel,
    division: Division,
    system: System,
    constants: StepConstants,
    own: OwnKernels = NONE_OWN,
) -> Timeline:
    """Every operator and collective of a layer, pass by pass, and then what the constants add; and the parts
    of the step, which add up to its time. Raises what composing a step raises."""
    composition = Composition(model, division, system, own)
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
