"""The programs of one launch in one timeline: a process for each, arrows where one waits for another."""

from __future__ import annotations

import msgspec

from trnbench.emulator.core.grid import Together
from trnbench.emulator.core.program import QUEUES, queue_of
from trnbench.emulator.trace.of_schedule import MOST, timeline_of
from trnbench.emulator.trace.timeline import Counter, Flow, Slice, Timeline

WAITS = "waits for another program"


def timeline_of_launch(
    together: Together, core: str, *, cores: int, launch: int = 0, most: int = MOST
) -> Timeline:
    """`core`: what a core is called, its number follows. `cores` are at work; further launches on them do
    the same. `most`: instructions of all programs together that are kept, the first of each.
    """
    count = len(together.schedules)
    slices: list[Slice] = []
    flows: list[Flow] = []
    counters: list[Counter] = []
    missing: list[str] = []
    begins: list[int] = []  # of each program, its first slice
    tracks: tuple[str, ...] = ()
    for number, schedule in enumerate(together.schedules):
        part = timeline_of(schedule, "", launch=launch, most=most // count)
        begin = len(slices)
        begins.append(begin)
        slices += [msgspec.structs.replace(each, process=number) for each in part.slices]
        flows += [Flow(begin + each.source, begin + each.target, each.why) for each in part.flows]
        counters += [msgspec.structs.replace(each, process=number) for each in part.counters]
        if part.missing:
            missing.append(f"program {number}: {part.missing}")
        tracks = tuple(dict.fromkeys((*tracks, *part.tracks)))
    if cores > count:
        missing.append(f"one launch of {cores // count:,} is shown, the others do the same")
    kept = [min(len(each.program), most // count) for each in together.schedules]
    slices += _waits(together, launch, kept)
    flows += _meetings(together, begins, kept)
    return Timeline(
        processes={number: f"{core} {number}, program {number}" for number in range(count)},
        tracks=tracks,
        slices=slices,
        flows=flows,
        counters=tuple(counters),
        missing="; ".join(missing),
    )


def _waits(together: Together, launch: int, kept: list[int]) -> list[Slice]:
    """In front of each meeting that was not at once, on the queue that stood still."""
    found = []
    for number, (schedule, waits) in enumerate(zip(together.schedules, together.waits, strict=True)):
        program = schedule.program
        for at, wait in waits.items():
            if wait.start > wait.ready and at < kept[number]:
                track = QUEUES[queue_of(program.ops[program.op[at]])]
                found.append(Slice(number, track, WAITS, launch + wait.ready, wait.start - wait.ready))
    return found


def _meetings(together: Together, begins: list[int], kept: list[int]) -> list[Flow]:
    """From the program that came last to those that waited for it."""
    found = []
    for turn in zip(*(waits.items() for waits in together.waits), strict=True):
        last = max(range(len(turn)), key=lambda number: turn[number][1].ready)
        for number, (at, wait) in enumerate(turn):
            if number != last and wait.start > wait.ready:
                source, target = turn[last][0], at
                if source < kept[last] and target < kept[number]:
                    found.append(Flow(begins[last] + source, begins[number] + target, WAITS))
    return found
