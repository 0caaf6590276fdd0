"""Queues that wait for nothing but their own instructions: what they take is sums, and needs no schedule."""

from __future__ import annotations

import numpy as np

from trnbench_emulator.core.core import Core
from trnbench_emulator.core.equivalence import representatives
from trnbench_emulator.core.pace import Pace, Without
from trnbench_emulator.core.pieces import marks_of
from trnbench_emulator.core.program import LOAD
from trnbench_emulator.core.recording import Recording
from trnbench_emulator.core.scheduler import Mark

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


def unheld(recording: Recording, pace: Pace) -> list[tuple[Mark, ...]]:
    """Of each program what `schedule` would mark without ALONE: where its pieces end, and all of it. For
    launches whose triggers of transfers are all the Sync engine's: those of others wait for their engine.
    """
    programs, marks = recording.programs, marks_of(recording.pieces)
    of = representatives(programs, recording.classes) if len(programs) > 1 else (0,)
    ends = {number: _marked(Core(programs[number], pace, ALONE), marks) for number in dict.fromkeys(of)}
    return [ends[number] for number in of]


def _marked(core: Core, marks: tuple[int, ...]) -> tuple[Mark, ...]:
    reached: list[Mark] = []
    begin = 0
    for end in (*marks, len(core.program)):
        _advance(core, begin, end)
        reached.append(Mark.of(core))
        begin = end
    return tuple(reached)


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
        for each in range(spread):
            engines[each] += issue
        done = engines[spread - 1]
        if spread < len(engines):
            engines.sort()
        core.dma_busy += issue * spread
        core.path_busy += path
        core.hbm_busy += hbm
        last[queue] = max(last[queue], done, core.path_busy if path else 0, core.hbm_busy if hbm else 0)
