"""Which lines of a kernel take its time, and which one each engine was at when, kept short for every case."""

from __future__ import annotations

import linecache
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trnbench_emulator.core.scheduler import STRIP_ROWS, STRIP_SPANS
from trnbench_emulator.nki.op import DMA

if TYPE_CHECKING:
    from trnbench_emulator.core.costs import CostTable
    from trnbench_emulator.core.scheduler import Schedule
    from trnbench_emulator.core.timing import Timing

Place = tuple[str, int]

KEPT = 6
"""Lines of a case, of which each digit of a strip names one."""
LEAST = 0.005
"""Of the time: a line that takes less is left out."""
WIDEST = 80
"""Characters of a line's text."""
NONE = "-"


def line_seconds(timing: Timing, table: CostTable) -> dict[Place, float]:
    """Of the program that ends last: for each line (file, number) how long it keeps its engines busy, and the
    DMA engines where it moves data. Lines overlap, so they do not add up to the time."""
    program = timing.schedule.program
    cost = np.array([table.seconds(op) if op.engine == DMA else 0.0 for op in program.ops])
    ops, places = np.frombuffer(program.op, np.uint32), np.frombuffer(program.place, np.uint32)
    moved = np.bincount(places, cost[ops], len(program.places)) if len(program) else ()
    return {
        place: seconds + more
        for (place, seconds), more in zip(timing.lines.items(), np.asarray(moved).tolist(), strict=True)
    }


def line_profile(timing: Timing, table: CostTable) -> dict[str, Any]:
    """`lines`: [place, its text, seconds], the longest first; `line_strip`: for each row of the strip one
    character for each of its spans: the number of the line that its engine was at longest, "-" for another
    or none. Of a kernel in pieces the scheduled ones stand for all."""
    whole = timing.total / timing.scheduled.total if timing.scheduled.total else 1.0
    spent = line_seconds(timing, table)
    ranked = sorted(spent, key=lambda place: (-spent[place], place))
    kept = [place for place in ranked[:KEPT] if spent[place] * whole >= LEAST * timing.latency_s]
    if not kept:
        return {}
    lines = [
        [f"{Path(file).name}:{line}", _text(file, line), spent[file, line] * whole] for file, line in kept
    ]
    return {"lines": lines, "line_strip": _strip(timing.schedule, kept)}


def _text(file: str, line: int) -> str:
    text = " ".join(linecache.getline(file, line).split())
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def _strip(schedule: Schedule, kept: list[Place]) -> dict[str, str]:
    """An instruction counts where it begins; a span in which none does shows the one that went on."""
    program, other = schedule.program, len(kept)
    numbers = {place: number for number, place in enumerate(kept)}
    number = np.array([numbers.get(place, other) for place in program.places])
    row_of = {queue: row for row, shown in enumerate(STRIP_ROWS.values()) for queue in shown}
    row = np.array([row_of.get(queue, -1) for queue in program.queues])[np.frombuffer(program.op, np.uint32)]
    start = np.frombuffer(schedule.start, np.int64)
    took = np.frombuffer(schedule.issued, np.int64) - start
    shown = np.flatnonzero((row >= 0) & (took > 0))
    span = np.minimum(start[shown] // max(-(-schedule.total // STRIP_SPANS), 1), STRIP_SPANS - 1)
    line = number[np.frombuffer(program.place, np.uint32)[shown]]
    cell = (row[shown] * STRIP_SPANS + span) * (other + 1) + line
    shape = len(STRIP_ROWS), STRIP_SPANS, other + 1
    spent = np.bincount(cell, took[shown], math.prod(shape)).reshape(shape)
    longest = np.where(spent.any(2), spent.argmax(2), -1).tolist()
    strips = {}
    for name, places in zip(STRIP_ROWS, longest, strict=True):
        if max(places) < 0:
            continue
        at = other
        told = [at := (place if place >= 0 else at) for place in places]
        strips[name] = "".join(str(place) if place < other else NONE for place in told)
    return strips
