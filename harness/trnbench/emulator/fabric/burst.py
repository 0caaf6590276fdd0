"""Flows that all start at once and wait for nobody: one step, without the queue of events."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trnbench.emulator.fabric.maxmin import Floats, Indices, Usage, fair_shares

Ticks = NDArray[np.int64]
Mix = tuple[Indices, Floats]


def burst(
    mixes: Sequence[Mix], sizes: Floats, capacity: Floats, per_second: float, half: float
) -> tuple[Ticks, NDArray[np.bool_]]:
    """The tick at which the last byte of each flow has left, and which resources ever limited one.

    `per_second` ticks; a time is rounded down after `half` is added. Raises ValueError when a flow can
    never end.
    """
    left = np.zeros(len(mixes), dtype=np.int64)
    limits = np.zeros(len(capacity), dtype=bool)
    active = np.array([i for i, (used, _) in enumerate(mixes) if len(used) and sizes[i] > 0], dtype=np.intp)
    remaining = sizes[active].copy()
    usage = Usage.stack([mixes[i] for i in active])
    now = 0
    while len(active):
        rates, full = fair_shares(usage, capacity, len(active))
        limits |= full
        moving = rates > 0
        if not moving.any():
            raise ValueError(f"{len(active)} flows can never end: a link without bandwidth, or a circle")
        ends = np.full(len(active), np.iinfo(np.int64).max)
        ends[moving] = now + np.floor(remaining[moving] / rates[moving] * per_second + half).astype(np.int64)
        upcoming = int(ends.min())
        done = ends == upcoming
        left[active[done]] = upcoming
        remaining -= rates * (upcoming - now) / per_second
        now = upcoming
        kept = ~done
        number = np.cumsum(kept) - 1
        rows = kept[usage.flow]
        usage = Usage(number[usage.flow[rows]], usage.resource[rows], usage.weight[rows])
        active, remaining = active[kept], remaining[kept]
    return left, limits
