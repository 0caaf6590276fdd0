"""Latency of a load: a random cycle through one word of every cache line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from trnbench import Point, Program
from trnbench_host.compiler import FLAGS, compiler, library
from trnbench_host.threads import Place

if TYPE_CHECKING:
    from numpy.random import Generator

LINE, WORD = 64, 8
LOADS = 200_000
"""Loads of one call: some milliseconds where each comes from memory."""


def prepare(point: Point, place: Place, rng: Generator) -> Program:
    """One cycle that visits every line once, in random order: no prefetcher follows it."""
    lines = max(2, int(point["size"]) // LINE)
    order = rng.permutation(lines)
    step = LINE // WORD
    following = np.zeros(lines * step, dtype=np.uint64)
    following[order * step] = np.roll(order, -1) * step
    start = int(order[0]) * step
    return _chase_program(following, order, start, LOADS, place)


def _chase_program(following: Any, order: Any, start: int, loads: int, place: Place) -> Program:
    chase = library().chase
    address = following.ctypes.data
    wanted = int(order[loads % len(order)]) * (LINE // WORD)

    def run() -> Any:
        return chase(address, start, loads)

    def check(found: Any) -> str:
        return "" if found == wanted else f"{loads} loads end at word {found}, they should end at {wanted}"

    return Program(
        run=run,
        check=check,
        awaited="every load needs the one before, and the last one is returned",
        checked="where the chain ends, by the order it was made from",
        amount=float(loads),
        smaller=lambda: _chase_program(following, order, start, loads // 4, place),
        repeats=float(loads),
        settings={**place.describe(), "compiler": compiler().rpartition("/")[2], "flags": " ".join(FLAGS)},
        notes=("pages as the system gives them: far loads include misses of the address tables",),
    )
