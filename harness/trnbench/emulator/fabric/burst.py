"""Flows that wait for nobody: one step, without the queue of events."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trnbench.emulator.fabric.maxmin import Floats, Indices, Usage, fair_shares

Ticks = NDArray[np.int64]
Mix = tuple[Indices, Floats]


def burst(
    mixes: Sequence[Mix], sizes: Floats, begins: Ticks, capacity: Floats, per_second: float, half: float
) -> tuple[Ticks, NDArray[np.bool_]]:
    """The tick at which the last byte of each flow has left, which takes its share of resources from `begins`
    on; and which resources ever limited one.

    `per_second` ticks; a time is rounded down after `half` is added. Raises ValueError when a flow can
    never end.
    """
    left = begins.copy()
    limits = np.zeros(len(capacity), dtype=bool)
    active = np.array([i for i, (used, _) in enumerate(mixes) if len(used) and sizes[i] > 0], dtype=np.intp)
    remaining = sizes[active].copy()
    usage = Usage.stack([mixes[i] for i in active])
    begin = begins[active]
    now = int(begin.min()) if len(active) else 0
    while len(active):
        started = begin <= now
        rates, full = _rates(usage, capacity, started)
        limits |= full
        moving = rates > 0
        if started.all() and not moving.any():
            raise ValueError(f"{len(active)} flows can never end: a link without bandwidth, or a circle")
        ends = np.full(len(active), np.iinfo(np.int64).max)
        ends[moving] = now + np.floor(remaining[moving] / rates[moving] * per_second + half).astype(np.int64)
        upcoming = min(int(ends.min()), int(begin[~started].min(initial=np.iinfo(np.int64).max)))
        done = ends == upcoming
        left[active[done]] = upcoming
        remaining -= rates * (upcoming - now) / per_second
        now = upcoming
        kept = ~done
        number = np.cumsum(kept) - 1
        rows = kept[usage.flow]
        usage = Usage(number[usage.flow[rows]], usage.resource[rows], usage.weight[rows])
        active, remaining, begin = active[kept], remaining[kept], begin[kept]
    return left, limits


def _rates(usage: Usage, capacity: Floats, started: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.bool_]]:
    """Bytes/s of every flow, 0 of those that have not begun; and which resources limit one."""
    if started.all():
        return fair_shares(usage, capacity, len(started))
    number = np.cumsum(started) - 1
    rows = started[usage.flow]
    part = Usage(number[usage.flow[rows]], usage.resource[rows], usage.weight[rows])
    found, limits = fair_shares(part, capacity, int(started.sum()))
    rates = np.zeros(len(started))
    rates[started] = found
    return rates, limits
