"""Flows that start when what they wait for has arrived, and share links while they last.

Time is kept in integer ticks, so that a symmetric answer and its expansion agree to the tick and
two runs agree bit for bit.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence

import msgspec
import numpy as np

from trnbench.emulator.fabric.maxmin import Floats, Indices, Usage, fair_rates

TICKS_PER_SECOND = 10**12
"""One tick is a picosecond: a thousandth of the finest time any source states."""

_NUDGE = 2.0**-10  # keeps exact half ticks from falling either way with the last bit of a float


def ticks(seconds: float) -> int:
    """Seconds as ticks, rounded; halves always go up."""
    return math.floor(seconds * TICKS_PER_SECOND + 0.5 + _NUDGE)


class Flow(msgspec.Struct, frozen=True):
    """`size` bytes over `resources` in the shares `weights`.

    It starts `before` ticks after the last of `after` (indices of earlier flows) has arrived, and
    arrives `latency` ticks after its last byte has left. `times` > 1 repeats it back to back,
    each repetition waiting for the one before: the steps of a ring.
    """

    size: float
    resources: Indices
    weights: Floats
    latency: int = 0
    before: int = 0
    after: tuple[int, ...] = ()
    times: int = 1


class Outcome(msgspec.Struct, frozen=True):
    """`arrival` ticks per flow; `carried` bytes per resource; `busy` ticks each could have taken."""

    arrival: list[int]
    carried: Floats
    total: int


def simulate(flows: Sequence[Flow], capacity: Floats) -> Outcome:
    """Carry all flows out. `capacity`: bytes/s per resource.

    Raises ValueError when a flow can never end (a resource without capacity) or waits in a circle.
    """
    waiting = [len(flow.after) for flow in flows]
    dependents: list[list[int]] = [[] for _ in flows]
    for index, flow in enumerate(flows):
        for earlier in flow.after:
            dependents[earlier].append(index)
    left_times = [flow.times for flow in flows]
    remaining = [0.0] * len(flows)
    arrival = [-1] * len(flows)
    carried = np.zeros(len(capacity))
    starts: list[tuple[int, int]] = [(flow.before, i) for i, flow in enumerate(flows) if not flow.after]
    heapq.heapify(starts)
    arrivals: list[tuple[int, int]] = []
    patterns = _Patterns(flows, capacity)
    active: list[int] = []
    rates: dict[int, float] = {}
    now = 0
    open_count = len(flows)

    def arrive(index: int, when: int) -> None:
        nonlocal open_count
        left_times[index] -= 1
        if left_times[index]:
            heapq.heappush(starts, (when + flows[index].before, index))
            return
        arrival[index] = when
        open_count -= 1
        for later in dependents[index]:
            waiting[later] -= 1
            if not waiting[later]:
                heapq.heappush(starts, (when + flows[later].before, later))

    while open_count:
        ends = {i: now + ticks(remaining[i] / rates[i]) for i in active if rates[i] > 0}
        upcoming = min(
            min(ends.values(), default=_NEVER),
            starts[0][0] if starts else _NEVER,
            arrivals[0][0] if arrivals else _NEVER,
        )
        if upcoming == _NEVER:
            stuck = [i for i in range(len(flows)) if arrival[i] < 0]
            raise ValueError(f"{len(stuck)} flows can never end: a link without bandwidth, or a circle")
        elapsed = upcoming - now
        ended = [i for i in active if ends.get(i) == upcoming]
        if elapsed:
            gone = set(ended)
            for i in active:
                if i not in gone:
                    remaining[i] -= rates[i] * elapsed / TICKS_PER_SECOND
        now = upcoming
        for i in ended:
            heapq.heappush(arrivals, (now + flows[i].latency, i))
        changed = bool(ended)
        if ended:
            gone = set(ended)
            active = [i for i in active if i not in gone]
        while arrivals and arrivals[0][0] == now:
            arrive(heapq.heappop(arrivals)[1], now)
        while starts and starts[0][0] == now:
            index = heapq.heappop(starts)[1]
            flow = flows[index]
            if len(flow.resources):
                np.add.at(carried, flow.resources, flow.weights * flow.size)
            if flow.size <= 0 or not len(flow.resources):
                heapq.heappush(arrivals, (now + flow.latency, index))
                continue
            remaining[index] = flow.size
            active.append(index)
            changed = True
        if changed and active:
            rates = patterns.rates(active)
    return Outcome(arrival, carried, max(arrival, default=0))


_NEVER = 1 << 62


class _Patterns:
    """Rates by which link mixes are active at once: the steps of a ring ask the same every time."""

    def __init__(self, flows: Sequence[Flow], capacity: Floats) -> None:
        self._flows = flows
        self._capacity = capacity
        self._known: dict[tuple[int, ...], list[float]] = {}
        names: dict[tuple[int, int], int] = {}
        # Flows of one step share their arrays, so identity is enough to see equal mixes.
        self._pattern = [names.setdefault((id(f.resources), id(f.weights)), len(names)) for f in flows]

    def rates(self, active: Sequence[int]) -> dict[int, float]:
        order = sorted(active, key=self._pattern.__getitem__)
        key = tuple(self._pattern[i] for i in order)
        values = self._known.get(key)
        if values is None:
            usage = Usage.stack([(self._flows[i].resources, self._flows[i].weights) for i in order])
            values = fair_rates(usage, self._capacity, len(order)).tolist()
            self._known[key] = values
        return dict(zip(order, values, strict=True))
