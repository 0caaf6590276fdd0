"""One program of a launch on a timeline: a slice for each instruction, an arrow for each dependency."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from trnbench_emulator.clock import TICKS_PER_SECOND
from trnbench_emulator.core.core import EXCLUDED, LAUNCHED, MET, TURN
from trnbench_emulator.core.dependency import Dep
from trnbench_emulator.core.program import KINDS, LOAD, QUEUES, Program, queue_of
from trnbench_emulator.core.scheduler import Schedule
from trnbench_emulator.core.trigger import descriptors_by, triggered_by
from trnbench_emulator.nki.op import DMA, Op
from trnbench_emulator.trace.timeline import Counter, Flow, Slice

SPANS = 400
"""Samples of a counter."""

HOST = "host"
TRIGGER = "trigger"


class Drawn(NamedTuple):
    slices: list[Slice]
    flows: list[Flow]
    memory: Counter


def drawn(schedule: Schedule, process: int, kept: int, launch: int, first: int) -> Drawn:
    """The first `kept` instructions. Slice i is instruction i, of a transfer what comes after its trigger;
    the triggers come behind them. Flows count slices from `first` on. `launch`: ticks from the host's call to
    the first instruction, a slice of its own at the end.
    """
    program = schedule.program
    told = [_args(op) for op in program.ops]
    slices = [_slice(schedule, process, number, told, launch) for number in range(kept)]
    triggers: dict[int, int] = {}  # of a transfer, the slice of its trigger
    for number in range(kept):
        if schedule.issued[number] > schedule.start[number] and program.ops[program.op[number]].engine == DMA:
            triggers[number] = len(slices)
            slices.append(_trigger(schedule, process, number, launch))
    if launch:
        slices.append(Slice(process, HOST, "launch", 0, launch))
    flows = list(_flows(program, kept, triggers, first))
    return Drawn(slices, flows, _memory(schedule, process, kept, launch))


def _slice(schedule: Schedule, process: int, number: int, told: list[dict[str, Any]], launch: int) -> Slice:
    program = schedule.program
    op = program.op[number]
    start = schedule.start[number]
    queue = queue_of(program.ops[op])
    # An engine is free again at `issued`; a transfer is under way from then until its end.
    stop = schedule.issued[number]
    if queue >= LOAD:
        start, stop = stop, schedule.end[number]
    args = {
        **told[op],
        **_waits(schedule, number),
        "done_ns": (launch + schedule.end[number]) / 1000,
    }
    name, duration = program.ops[op].opcode, max(stop - start, 0)
    return Slice(process, QUEUES[queue], name, launch + start, duration, args)


def _trigger(schedule: Schedule, process: int, number: int, launch: int) -> Slice:
    """What starts transfer `number`, on the track of the engine that gives it."""
    op = schedule.program.ops[schedule.program.op[number]]
    start, stop = schedule.start[number], schedule.issued[number]
    args = {"descriptors by": descriptors_by(op.variables), **_waits(schedule, number)}
    name, track = f"{TRIGGER} {op.opcode}", triggered_by(op.variables)
    return Slice(process, track, name, launch + start, stop - start, args)


def _waits(schedule: Schedule, number: int) -> dict[str, Any]:
    file, line = schedule.program.places[schedule.program.place[number]]
    return {"line": f"{Path(file).name}:{line}", "ready": _waited(schedule.cause[number])}


def _args(op: Op) -> dict[str, Any]:
    """Sizes and operation, for the panel beside a slice."""
    plain = {name: value for name, value in op.variables.items() if isinstance(value, int | float | str)}
    return {"dtype": op.dtype, **plain}


_CAUSES = {
    LAUNCHED: "at once",
    TURN: "waits for its turn",
    EXCLUDED: "waits for a memory in use",
    MET: "waits for another program",
}


def _waited(cause: int) -> str:
    return KINDS[Dep.of(cause).kind] if cause >= 0 else _CAUSES[cause]


def _flows(program: Program, kept: int, triggers: dict[int, int], first: int) -> Iterator[Flow]:
    """What a transfer waits for, its trigger does."""
    for number in range(kept):
        trigger = triggers.get(number, number)
        for packed in program.deps[program.first[number] : program.first[number + 1]]:
            dep = Dep.of(packed)
            yield Flow(first + dep.source, first + trigger, KINDS[dep.kind])
        if trigger != number:
            yield Flow(first + trigger, first + number, TRIGGER)


def _memory(schedule: Schedule, process: int, kept: int, launch: int) -> Counter:
    """Bytes per second to and from HBM, spread evenly over each transfer."""
    program = schedule.program
    length = max(schedule.total, 1)
    moved = [0.0] * SPANS
    for number in range(kept):
        op = program.ops[program.op[number]]
        amount = op.traffic.get("hbm_read", 0) + op.traffic.get("hbm_write", 0)
        if amount:
            spread(moved, schedule.start[number], schedule.end[number], length, float(amount))
    span = length / SPANS
    samples = [(launch + round(i * span), each / span * TICKS_PER_SECOND) for i, each in enumerate(moved)]
    return Counter(process, "HBM", "B/s", [*samples, (launch + length, 0.0)])


def spread(spans: list[float], start: int, stop: int, length: int, amount: float) -> None:
    """`amount` over the spans that [start, stop) touches, in proportion."""
    if stop <= start:
        return
    count = len(spans)
    first = min(start * count // length, count - 1)
    last = min(max(stop * count - 1, 0) // length, count - 1)
    for each in range(first, last + 1):
        low = max(start, each * length / count)
        high = min(stop, (each + 1) * length / count)
        if high > low:
            spans[each] += amount * (high - low) / (stop - start)
