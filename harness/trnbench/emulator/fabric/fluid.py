"""Flows that start when what they wait for has arrived, and share links while they last.

Time is kept in integer ticks, so that a symmetric answer and its expansion agree to the tick and
two runs agree bit for bit.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect
from collections.abc import Sequence
from operator import truediv

import msgspec
import numpy as np
from numpy.typing import NDArray

from trnbench.emulator.clock import HALF, TICKS_PER_SECOND
from trnbench.emulator.fabric.burst import burst
from trnbench.emulator.fabric.maxmin import Floats, Indices, Usage, fair_shares


class Flow(msgspec.Struct, frozen=True):
    """`size` bytes over `resources` in the shares `weights`.

    It takes links `before` ticks after the last of `after` (indices of earlier flows) has arrived, and
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


def timing(direct: bool, latency: int, before: int) -> tuple[int, int]:
    """`latency` and `before` of a flow: the way of a direct message lies before its share of links."""
    return (0, before + latency) if direct else (latency, before)


class Outcome(msgspec.Struct, frozen=True):
    """`arrival` ticks per flow; `carried` bytes per resource; `watched`: whether a resource that is watched
    ever limited a flow.
    """

    arrival: list[int]
    carried: Floats
    total: int
    watched: bool = True


class Rates:
    """Rates by which link mixes are active at once: the steps of a ring ask the same every time.

    May be kept for all simulations on one network. Mixes are told apart by the identity of their
    arrays, which are kept here, so that no other can take their place.
    """

    LARGEST = 20_000  # answers kept; a long sweep of uneven traffic would keep too many

    def __init__(self, capacity: Floats, watched: NDArray[np.bool_] | None = None) -> None:
        self.capacity = capacity
        self.watched = np.zeros(len(capacity), dtype=bool) if watched is None else watched
        self._names: dict[tuple[int, int], int] = {}
        self._kept: list[tuple[Indices, Floats]] = []
        self._known: dict[tuple[int, ...], tuple[list[float], bool]] = {}

    def name(self, flow: Flow) -> int:
        """A number for the flow's mix of links."""
        key = (id(flow.resources), id(flow.weights))
        found = self._names.get(key)
        if found is None:
            found = self._names[key] = len(self._kept)
            self._kept.append((flow.resources, flow.weights))
        return found

    def of(self, mixes: tuple[int, ...]) -> tuple[list[float], bool]:
        """Bytes/s of flows with these mixes, all active at once, in this order; and whether a resource that
        is watched limits one of them.
        """
        found = self._known.get(mixes)
        if found is None:
            if len(self._known) >= self.LARGEST:
                self._known.clear()
            usage = Usage.stack([self._kept[mix] for mix in mixes])
            rates, limits = fair_shares(usage, self.capacity, len(mixes))
            found = self._known[mixes] = rates.tolist(), bool((limits & self.watched).any())
        return found


def simulate(
    flows: Sequence[Flow], capacity: Floats, table: Rates | None = None, scale: float = 1.0
) -> Outcome:
    """Carry all flows out. `capacity`: bytes/s per resource, that of `table` if one is given. `scale`
    multiplies the size of every flow.

    Raises ValueError when a flow can never end (a resource without capacity) or waits in a circle.
    """
    table = table or Rates(capacity)
    if flows and all(not f.after and f.times == 1 for f in flows):
        return _at_once(flows, table, scale)
    waiting = [len(flow.after) for flow in flows]
    dependents: list[list[int]] = [[] for _ in flows]
    for index, flow in enumerate(flows):
        for earlier in flow.after:
            dependents[earlier].append(index)
    left_times = [flow.times for flow in flows]
    before = [flow.before for flow in flows]
    latency = [flow.latency for flow in flows]
    empty = [flow.size <= 0 or not len(flow.resources) for flow in flows]
    arrival = [-1] * len(flows)
    starts: list[tuple[int, int]] = [(before[i], i) for i, flow in enumerate(flows) if not flow.after]
    heapq.heapify(starts)
    arrivals: list[tuple[int, int]] = []
    mixes = [table.name(flow) for flow in flows]
    # Flows that are under way, in order, and in the same places the mix, the bytes left and the rate of each.
    active: list[int] = []
    mixed: list[int] = []
    remaining: list[float] = []
    rates: list[float] = []
    now = 0
    watched = stalled = False
    open_count = len(flows)
    push, pop, floor, per_second, half, inf = (
        heapq.heappush,
        heapq.heappop,
        math.floor,
        float(TICKS_PER_SECOND),
        HALF,
        math.inf,
    )
    while open_count:
        upcoming = _NEVER
        if active:
            # As `ticks` rounds, which keeps the order; spelt out, for nothing is computed as often.
            if stalled:
                lasts = [
                    left / rate if rate > 0 else inf for left, rate in zip(remaining, rates, strict=True)
                ]
            else:
                lasts = list(map(truediv, remaining, rates))
            first = min(lasts)
            soonest = floor(first * per_second + half) if first < inf else _NEVER
            if soonest < _NEVER:
                upcoming = now + soonest
        ending = upcoming
        if starts and starts[0][0] < upcoming:
            upcoming = starts[0][0]
        if arrivals and arrivals[0][0] < upcoming:
            upcoming = arrivals[0][0]
        if upcoming == _NEVER:
            stuck = sum(when < 0 for when in arrival)
            raise ValueError(f"{stuck} flows can never end: a link without bandwidth, or a circle")
        elapsed = upcoming - now
        now = upcoming
        changed = False
        if active:
            if elapsed:
                passed = float(elapsed)
                remaining = [
                    bytes_left - rate * passed / per_second
                    for bytes_left, rate in zip(remaining, rates, strict=True)
                ]
            if ending == now:
                changed = True
                for place in range(len(active) - 1, -1, -1):
                    if lasts[place] * per_second + half < soonest + 1:
                        index = active.pop(place)
                        del mixed[place], remaining[place]
                        push(arrivals, (now + latency[index], index))
        while arrivals and arrivals[0][0] == now:
            index = pop(arrivals)[1]
            left_times[index] -= 1
            if left_times[index]:
                push(starts, (now + before[index], index))
                continue
            arrival[index] = now
            open_count -= 1
            for later in dependents[index]:
                waiting[later] -= 1
                if not waiting[later]:
                    push(starts, (now + before[later], later))
        while starts and starts[0][0] == now:
            index = pop(starts)[1]
            if empty[index]:
                push(arrivals, (now + latency[index], index))
                continue
            place = bisect(active, index)
            active.insert(place, index)
            mixed.insert(place, mixes[index])
            remaining.insert(place, flows[index].size * scale)
            changed = True
        if changed and active:
            rates, limited = table.of(tuple(mixed))
            stalled = 0.0 in rates
            watched |= limited
    total = max(arrival, default=0)
    return Outcome(arrival, _carried(flows, len(capacity)) * scale, total, watched)


def _at_once(flows: Sequence[Flow], table: Rates, scale: float) -> Outcome:
    """Nobody waits for another."""
    sizes = np.array([flow.size for flow in flows]) * scale
    mixes = [(flow.resources, flow.weights) for flow in flows]
    begins = np.array([flow.before for flow in flows], dtype=np.int64)
    left, limits = burst(mixes, sizes, begins, table.capacity, float(TICKS_PER_SECOND), HALF)
    late = np.array([flow.latency for flow in flows], dtype=np.int64)
    arrival = (left + late).tolist()
    carried = _carried(flows, len(table.capacity)) * scale
    return Outcome(arrival, carried, max(arrival), bool((limits & table.watched).any()))


def _carried(flows: Sequence[Flow], count: int) -> Floats:
    """Bytes over each of `count` resources."""
    if not flows:
        return np.zeros(count)
    resources = np.concatenate([flow.resources for flow in flows])
    each = [flow.weights * (flow.size * flow.times) for flow in flows]
    return np.bincount(resources, np.concatenate(each), minlength=count).astype(np.float64)


_NEVER = 1 << 62
