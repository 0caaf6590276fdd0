"""Flows that wait for nobody: one step, without the queue of events."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trnbench_emulator.fabric.maxmin import Floats
from trnbench_emulator.fabric.rates import Rates

Ticks = NDArray[np.int64]


def burst(
    mixes: Sequence[int], sizes: Floats, begins: Ticks, rates: Rates, per_second: float, half: float
) -> tuple[Ticks, bool]:
    """The tick at which the last byte of each flow has left, which takes its share of resources from `begins`
    on, at once where it has no bytes; and whether a resource that is watched ever limited one. `mixes`: what
    `rates` are asked by.

    `per_second` ticks; a time is rounded down after `half` is added. Raises ValueError when a flow can
    never end.
    """
    left = begins.copy()
    watched = False
    active = np.flatnonzero(sizes > 0)
    remaining, begin, mix = sizes[active], begins[active], np.array(mixes, dtype=np.intp)[active]
    now = int(begin.min()) if len(active) else 0
    while len(active):
        started = begin <= now
        everyone = bool(started.all())
        found, limited = rates.of(tuple((mix if everyone else mix[started]).tolist()))
        watched |= limited
        rate = np.zeros(len(active))
        rate[started] = found
        moving = rate > 0
        if everyone and not moving.any():
            raise ValueError(f"{len(active)} flows can never end: a link without bandwidth, or a circle")
        ends = np.full(len(active), _NEVER)
        ends[moving] = now + np.floor(remaining[moving] / rate[moving] * per_second + half).astype(np.int64)
        upcoming = int(ends.min())
        if not everyone:
            upcoming = min(upcoming, int(begin[~started].min()))
        done = ends == upcoming
        left[active[done]] = upcoming
        kept = ~done
        remaining = remaining[kept] - rate[kept] * (upcoming - now) / per_second
        now = upcoming
        active, begin, mix = active[kept], begin[kept], mix[kept]
    return left, watched


_NEVER = np.iinfo(np.int64).max
