"""A launch on a timeline: a process for each program, a slice for each instruction, arrows for waits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trnbench_emulator import TICKS_PER_SECOND
from trnbench_emulator.core.core import EXCLUDED, LAUNCHED, MET, TURN
from trnbench_emulator.core.launch import LaunchSchedule
from trnbench_emulator.core.program import KINDS, LOAD, QUEUES, RINGS, Dep, Program, queue_of
from trnbench_emulator.core.scheduler import Schedule
from trnbench_emulator.core.transfers import SYNC, descriptors_by, triggered_by
from trnbench_emulator.nki.op import DMA, Op
from trnbench_emulator.trace.perfetto import Counter, Flow, Slice, Timeline

WAITS = "waits for another program"

SPANS = 400
"""Samples of a counter."""

HOST = "host"
TRIGGER = "trigger"


MOST = 1_000_000
"""Instructions that are kept: more than any viewer opens, and a bound for this machine's memory."""


def timeline_of(scheduled: LaunchSchedule, core: str, *, cores: int = 1, launch: int = 0) -> Timeline:
    """`core`: what a core is called, its number follows. `cores` are at work; further launches on them do
    the same. `launch`: ticks from the host's call to the first instructions. Of each program the first
    instructions are kept, of all together as many as MOST.
    """
    count = len(scheduled.schedules)
    slices: list[Slice] = []
    flows: list[Flow] = []
    counters: list[Counter] = []
    missing: list[str] = []
    if cores > count:
        programs_shown = f"one launch of {cores // count:,}" if count > 1 else f"core 0 of {cores:,}"
        missing.append(f"{programs_shown} is shown, the others do the same")
    firsts: list[int] = []  # of each program, its first slice
    limits = [min(len(schedule.program), MOST // count) for schedule in scheduled.schedules]
    for number, schedule in enumerate(scheduled.schedules):
        firsts.append(len(slices))
        instructions, waits, memory = drawn(schedule, number, limits[number], launch, firsts[number])
        slices += instructions
        flows += waits
        counters.append(memory)
        if limits[number] < len(schedule.program):
            of = f"program {number}: " if count > 1 else ""
            missing.append(
                f"{of}{limits[number]:,} of {len(schedule.program):,} instructions were kept, the first ones"
            )
    slices += _waiting_slices(scheduled, launch, limits)
    flows += _meetings(scheduled, firsts, limits)
    return Timeline(
        processes={
            number: f"{core} {number}" + (f", program {number}" if count > 1 else "")
            for number in range(count)
        },
        tracks=(HOST, *QUEUES[:LOAD], SYNC, *RINGS),
        slices=slices,
        flows=flows,
        counters=tuple(counters),
        missing="; ".join(missing),
    )


def drawn(
    schedule: Schedule, process: int, kept: int, launch: int, first: int
) -> tuple[list[Slice], list[Flow], Counter]:
    """The first `kept` instructions. Slice i is instruction i, of a transfer what comes after its trigger;
    the triggers come behind them. Flows count slices from `first` on. `launch`: ticks from the host's call to
    the first instruction, a slice of its own at the end.
    """
    program = schedule.program
    args_of_op = [_args(op) for op in program.ops]
    slices = [_slice(schedule, process, number, args_of_op, launch) for number in range(kept)]
    triggers: dict[int, int] = {}  # of a transfer, the slice of its trigger
    for number in range(kept):
        if schedule.issued[number] > schedule.start[number] and program.ops[program.op[number]].engine == DMA:
            triggers[number] = len(slices)
            slices.append(_trigger(schedule, process, number, launch))
    if launch:
        slices.append(Slice(process, HOST, "launch", 0, launch))
    flows = list(_flows(program, kept, triggers, first))
    return slices, flows, _memory(schedule, process, kept, launch)


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
        if op.hbm_bytes:
            spread(moved, schedule.start[number], schedule.end[number], length, float(op.hbm_bytes))
    span = length / SPANS
    samples = [
        (launch + round(i * span), moved_bytes / span * TICKS_PER_SECOND)
        for i, moved_bytes in enumerate(moved)
    ]
    return Counter(process, "HBM", "B/s", [*samples, (launch + length, 0.0)])


def spread(spans: list[float], start: int, stop: int, length: int, amount: float) -> None:
    """`amount` over the spans that [start, stop) touches, in proportion."""
    if stop <= start:
        return
    count = len(spans)
    first = min(start * count // length, count - 1)
    last = min(max(stop * count - 1, 0) // length, count - 1)
    for span in range(first, last + 1):
        low = max(start, span * length / count)
        high = min(stop, (span + 1) * length / count)
        if high > low:
            spans[span] += amount * (high - low) / (stop - start)


def _waiting_slices(scheduled: LaunchSchedule, launch: int, kept: list[int]) -> list[Slice]:
    """In front of each rendezvous that was not at once, on the queue that stood still."""
    slices = []
    for number, (schedule, waits) in enumerate(zip(scheduled.schedules, scheduled.waits, strict=True)):
        program = schedule.program
        for instruction, wait in waits.items():
            if wait.waited and instruction < kept[number]:
                track = QUEUES[queue_of(program.ops[program.op[instruction]])]
                slices.append(Slice(number, track, WAITS, launch + wait.ready, wait.start - wait.ready))
    return slices


def _meetings(scheduled: LaunchSchedule, firsts: list[int], kept: list[int]) -> list[Flow]:
    """From the program that came last to those that waited for it."""
    flows = []
    for turn in zip(*(waits.items() for waits in scheduled.waits), strict=True):
        last = max(range(len(turn)), key=lambda number: turn[number][1].ready)
        source = turn[last][0]
        for number, (target, wait) in enumerate(turn):
            if number != last and wait.waited and source < kept[last] and target < kept[number]:
                flows.append(Flow(firsts[last] + source, firsts[number] + target, WAITS))
    return flows
