"""A launch on a timeline: a process for each program, arrows where one waits for another."""

from __future__ import annotations

from trnbench_emulator.core.launch_schedule import LaunchSchedule
from trnbench_emulator.core.program import LOAD, QUEUES, RINGS, queue_of
from trnbench_emulator.core.trigger import SYNC
from trnbench_emulator.trace.slices import HOST, drawn
from trnbench_emulator.trace.timeline import Counter, Flow, Slice, Timeline

MOST = 1_000_000
"""Instructions that are kept: more than any viewer opens, and a bound for this machine's memory."""

WAITS = "waits for another program"


def timeline_of(
    scheduled: LaunchSchedule, core: str, *, cores: int = 1, launch: int = 0, most: int = MOST
) -> Timeline:
    """`core`: what a core is called, its number follows. `cores` are at work; further launches on them do
    the same. `launch`: ticks from the host's call to the first instructions. `most`: instructions of all
    programs together that are kept, the first of each.
    """
    count = len(scheduled.schedules)
    slices: list[Slice] = []
    flows: list[Flow] = []
    counters: list[Counter] = []
    missing: list[str] = []
    if cores > count:
        told = f"one launch of {cores // count:,}" if count > 1 else f"core 0 of {cores:,}"
        missing.append(f"{told} is shown, the others do the same")
    firsts: list[int] = []  # of each program, its first slice
    kept = [min(len(schedule.program), most // count) for schedule in scheduled.schedules]
    for number, schedule in enumerate(scheduled.schedules):
        firsts.append(len(slices))
        part = drawn(schedule, number, kept[number], launch, firsts[number])
        slices += part.slices
        flows += part.flows
        counters.append(part.memory)
        if kept[number] < len(schedule.program):
            of = f"program {number}: " if count > 1 else ""
            missing.append(
                f"{of}{kept[number]:,} of {len(schedule.program):,} instructions were kept, the first ones"
            )
    slices += _waits(scheduled, launch, kept)
    flows += _meetings(scheduled, firsts, kept)
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


def _waits(scheduled: LaunchSchedule, launch: int, kept: list[int]) -> list[Slice]:
    """In front of each rendezvous that was not at once, on the queue that stood still."""
    slices = []
    for number, (made, waits) in enumerate(zip(scheduled.schedules, scheduled.waits, strict=True)):
        program = made.program
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
