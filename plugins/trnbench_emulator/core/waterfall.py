"""The waterfall of a launch: what each cause of lost time adds, found by removing one after the other."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from trnbench.peaks import engine_rate
from trnbench.results.measurement import AT_PEAK
from trnbench_emulator import ticks
from trnbench_emulator.core.core import EXCLUDED, Core
from trnbench_emulator.core.launch import WAITING, LaunchSchedule, schedule_launch
from trnbench_emulator.core.pace import NOTHING_REMOVED, Pace, Without, rivals
from trnbench_emulator.core.pieces import marks_of, whole
from trnbench_emulator.core.program import (
    BUFFER,
    GPSIMD_RING,
    KIND_MASK,
    LOAD,
    QUEUES,
    RINGS,
    SCALAR_RING,
    Program,
)
from trnbench_emulator.core.recording import Recording
from trnbench_emulator.core.scheduler import Mark, marked

ALONE = Without(
    throttle=True,
    exclusions=True,
    banks=True,
    buffers=True,
    semaphores=True,
    start=True,
    latency=True,
    order=True,
)
"""All that makes an instruction wait, or end later than its queue takes the next one."""


def ends_alone(recording: Recording, pace: Pace) -> list[tuple[Mark, ...]]:
    """Of each program what `schedule` would mark without ALONE: where its pieces end, and all of it. For
    launches whose triggers of transfers are all the Sync engine's: those of others wait for their engine.
    """
    programs, marks, of = recording.programs, marks_of(recording.pieces), recording.representatives
    cores = {number: Core(programs[number], pace, ALONE) for number in of}
    ends = {number: marked(core, marks, partial(_advance, core)) for number, core in cores.items()}
    return [ends[number] for number in of]


def _advance(core: Core, begin: int, end: int) -> None:
    kinds = np.frombuffer(core.op, np.uint32)[begin:end]
    moving = np.zeros(len(core.plain), np.bool_)
    for kind, count in enumerate(np.bincount(kinds, minlength=len(core.plain)).tolist()):
        queue, issue, *_ = core.plain[kind]
        if queue < LOAD:
            core.queue_busy[queue] += count * issue
            core.last[queue] = core.queue_busy[queue]
        else:
            moving[kind] = True
    _transfer(core, kinds[moving[kinds]].tolist())


def _transfer(core: Core, kinds: list[int]) -> None:
    """All are there from the start: every ring sees the same engines, and the first one's stand for all."""
    engines, last = core.engines[0], core.last
    for kind in kinds:
        queue, issue, _, spread, hbm, path, *_ = core.plain[kind]
        for engine in range(spread):
            engines[engine] += issue
        done = engines[spread - 1]
        if spread < len(engines):
            engines.sort()
        core.dma_busy += issue * spread
        core.path_busy += path
        core.hbm_busy += hbm
        last[queue] = max(last[queue], done, core.path_busy if path else 0, core.hbm_busy if hbm else 0)


UNEVEN = "programs of unequal length"

_ANCHORS = ("tensor", "hbm")
_ENGINES = ("gpsimd", "scalar", "vector", "tensor")
_CAUSES = (
    ("tensor engine warming up", "throttle"),
    ("conflicts on a bank of PSUM", "banks"),
    ("engines that exclude each other", "exclusions"),
    ("waiting for buffers", "buffers"),
    ("semaphores", "semaphores"),
    ("start of transfers", "start"),
    ("latency of instructions", "latency"),
    ("waiting for operands", "order"),
)
"""In the order in which they are removed, by the field of `Without`; engines and memories follow."""

_NO_RATE = 1 << 62
"""Ticks of operations whose data type no document gives a rate for."""

Terms = list[tuple[str, int]]


def waterfall_of(
    recording: Recording, pace: Pace, launched: LaunchSchedule, *, launch: int, held: str
) -> Terms:
    """(what, ticks) from the peak of all cores to the end of the last program; adds up to the whole of
    `launched` and `launch`. `held`: as of `Launch`.
    """
    busy_of = [spent for _, spent in launched.whole]
    busy = {
        name: max(spent.get(name, 0) for spent in busy_of)
        for name in dict.fromkeys(name for spent in busy_of for name in spent)
    }
    total = launched.whole_total
    nobody_waits = schedule_launch(recording, pace, waiting=False) if any(launched.waits) else launched
    alone = min(nobody_waits.whole_total, total)
    ideals = [ideal_ticks(recording, number, pace) for number in range(len(recording.programs))]
    anchor = _anchor(busy, held, multiplies=any(ideals))
    terms, rest_ticks = _removed(recording, pace, busy, nobody_waits, alone, anchor)
    if anchor == "tensor":
        ideal = min(max(ideals), rest_ticks)
        terms.append(("tensor engine not filled", rest_ticks - ideal))
        rest_ticks = ideal
    if len(busy_of) > 1:
        work = ideals if anchor == "tensor" else [spent.get(anchor, 0) for spent in busy_of]
        # All the work, spread evenly over the cores, takes the mean of what it takes each of them.
        mean = min(sum(work) // len(work), rest_ticks)
        terms.append((UNEVEN, rest_ticks - mean))
        rest_ticks = mean
    terms = [("launch", launch), (WAITING, total - alone), *terms]
    return [(f"{anchor}{AT_PEAK}", rest_ticks), *(term for term in reversed(terms) if term[1])]


def _anchor(busy: Mapping[str, int], held: str, *, multiplies: bool) -> str:
    """At whose limit the waterfall starts."""
    if busy.get(held):
        return held
    anchor = next((name for name in _ANCHORS if busy.get(name)), "")
    if anchor == "tensor" and not multiplies:
        anchor = "hbm" if busy.get("hbm") else ""
    return anchor or max(busy, key=lambda name: (busy[name], name), default="launch")


def _removed(
    recording: Recording,
    pace: Pace,
    busy: Mapping[str, int],
    made: LaunchSchedule,
    total: int,
    anchor: str,
) -> tuple[Terms, int]:
    """What each cause adds, and what is left of `total`, that of `made`, without all of them.

    A cause that held nobody up is removed without another run: it would be the same. Nor does it take one
    once nothing waits for operands, and engines and memory are taken away: no queue waits for another then.
    """
    absent = frozenset.intersection(*(absent_causes(program, pace) for program in recording.programs))
    removed: dict[str, Any] = {}
    causes: list[tuple[str, str, Any]] = [(label, key, True) for label, key in _CAUSES if key not in absent]
    queues: frozenset[str] = frozenset()
    for name in _ENGINES:
        if name != anchor and busy.get(name):
            queues |= {name}
            causes.append((f"{name} engine", "queues", queues))
    if anchor != "dma" and busy.get("dma"):
        causes.append(("DMA engines", "queues", queues | set(RINGS)))
    if anchor != "hbm" and busy.get("hbm"):
        causes.append(("device memory", "hbm", True))
    terms, total_ticks = [], total
    ends: list[tuple[Mark, ...]] = []
    for label, key, value in causes:
        removed[key] = value
        if key in _HOLDING and not any(_HOLDING[key](schedule.cause) for schedule in made.schedules):
            ticks_left = total_ticks
        elif removed.get("order") and _apart(recording, removed):
            ends = ends or ends_alone(recording, pace)
            ticks_left = min(_freed(recording, ends, removed), total_ticks)
        else:
            made = schedule_launch(recording, pace, without=Without(**removed), waiting=False)
            ticks_left = min(made.whole_total, total_ticks)
        terms.append((label, total_ticks - ticks_left))
        total_ticks = ticks_left
    return terms, total_ticks


def _excluded(cause: array[int]) -> bool:
    return bool((np.frombuffer(cause, np.int64) == EXCLUDED).any())


def _without_buffer(cause: array[int]) -> bool:
    causes = np.frombuffer(cause, np.int64)
    return bool(((causes >= 0) & (causes & KIND_MASK == BUFFER)).any())


_HOLDING = {"banks": _excluded, "exclusions": _excluded, "buffers": _without_buffer}
"""By cause, whether an instruction of a schedule was held up by it."""


def _apart(recording: Recording, removed: Mapping[str, Any]) -> bool:
    """Does no queue wait for another where nothing waits for operands? Those of engines that trigger
    transfers do, and transfers share what moves them."""
    queues = {queue for program in recording.programs for queue in program.queues}
    return not queues & {SCALAR_RING, GPSIMD_RING} and ("hbm" not in removed or _freed_rings(removed))


def _freed_rings(removed: Mapping[str, Any]) -> bool:
    queues: frozenset[str] = removed.get("queues", frozenset())
    return queues.issuperset(RINGS)


def _freed(recording: Recording, ends: Sequence[tuple[Mark, ...]], removed: Mapping[str, Any]) -> int:
    """Ticks of the whole launch when `removed`, whose queues have waited for nothing up to `ends`."""

    def left(at: Mark) -> Mark:
        queues = removed.get("queues", frozenset())
        last = tuple(0 if name in queues else end for name, end in zip(QUEUES, at.last, strict=True))
        busy = {name: spent for name, spent in at.busy.items() if name not in queues}
        if _freed_rings(removed):
            # What is left of transfers is the memory, one after the other.
            busy.pop("dma", None)
            moved = 0 if "hbm" in removed else busy.get("hbm", 0)
            busy |= {"hbm": moved}
            last = (*last, moved)
        return Mark(max(last), busy, last)

    return max(
        whole(left(done), [left(mark) for mark in marks], recording.pieces)[0] for *marks, done in ends
    )


def absent_causes(program: Program, pace: Pace) -> frozenset[str]:
    """Causes that cannot delay any instruction of `program`: without them it takes as long."""
    steps = [pace.step(op, NOTHING_REMOVED) for op in program.ops]
    never = {
        "throttle": pace.throttle is None or not any(step.queue == 0 and step.issue for step in steps),
        "banks": not rivals(steps),
        "semaphores": not pace.semaphore or not len(program.deps),
        "start": not any(step.engines for step in steps),
    }
    return frozenset(name for name, absent in never.items() if absent)


def ideal_ticks(recording: Recording, number: int, pace: Pace) -> int:
    """Of the tensor engine's operations in a program, at the rate its clock allows for their data types."""
    program, time_s = recording.programs[number], 0.0
    for index, count in recording.counts[number].items():
        op = program.ops[index]
        if op.flops:
            rate = engine_rate(pace.table.system, op.dtype)
            if rate is None:
                return _NO_RATE
            time_s += op.flops * count / rate.value
    return ticks(time_s)
