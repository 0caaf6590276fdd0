"""Flows that start when what they wait for has arrived, and share links while they last.

Time is kept in integer ticks, so that a symmetric answer and its expansion agree to the tick and
two runs agree bit for bit.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect
from collections import Counter
from collections.abc import Sequence
from operator import truediv

import msgspec
import numpy as np
from numpy.typing import NDArray

from trnbench.emulator.clock import HALF, TICKS_PER_SECOND
from trnbench.emulator.fabric.burst import burst
from trnbench.emulator.fabric.maxmin import Floats, Indices, Usage, fair_shares

FEW = 8
"""Flows up to which those that wait for nobody go through the queue of events: it is sooner done."""


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
    """Rates by which mixes of links are active at once: the steps of a ring ask the same every time, sizes
    and plans ask alike.

    May be kept for all simulations on one network. Rates depend on nothing but how often each mix is active,
    and are worked out in an order that depends on the mixes alone: what was asked before changes no digit.
    """

    LARGEST = 20_000  # answers, and arrays, kept; a long sweep of uneven traffic would keep too many

    def __init__(self, capacity: Floats, watched: NDArray[np.bool_] | None = None) -> None:
        self.capacity = capacity
        self._watched = np.zeros(0, np.intp) if watched is None else np.flatnonzero(watched)
        self._names: dict[tuple[int, int], tuple[int, Flow]] = {}  # the flow keeps its arrays' identities
        self._equal: dict[tuple[bytes, bytes], int] = {}
        self._kept: list[tuple[Indices, Floats, tuple[bytes, bytes]]] = []
        self._known: dict[tuple[int, ...], tuple[list[float], bool]] = {}
        self._of_each: dict[tuple[int, ...], tuple[dict[int, float], bool]] = {}

    def name(self, flow: Flow) -> int:
        """A number for the flow's mix of links, the same for equal ones."""
        key = (id(flow.resources), id(flow.weights))
        named = self._names.get(key)
        if named is None:
            content = (flow.resources.tobytes(), flow.weights.tobytes())
            number = self._equal.setdefault(content, len(self._kept))
            if number == len(self._kept):
                self._kept.append((flow.resources, flow.weights, content))
            if len(self._names) >= self.LARGEST:
                self._names.clear()
            named = self._names[key] = number, flow
        return named[0]

    def of(self, mixes: tuple[int, ...]) -> tuple[list[float], bool]:
        """Bytes/s of flows with these mixes, all active at once, in this order; and whether a resource that
        is watched limits one of them.
        """
        found = self._known.get(mixes)
        if found is None:
            if len(self._known) >= self.LARGEST:
                self._known.clear()
                self._of_each.clear()
            ordered = tuple(sorted(mixes))
            if ordered not in self._of_each:
                self._of_each[ordered] = self._worked_out(ordered)
            rate, limited = self._of_each[ordered]
            found = self._known[mixes] = [rate[mix] for mix in mixes], limited
        return found

    def _worked_out(self, mixes: tuple[int, ...]) -> tuple[dict[int, float], bool]:
        """The rate of each mix; flows that are alike count as one that takes as often as much."""
        often = sorted(Counter(mixes).items(), key=lambda each: self._kept[each[0]][2])
        usage = Usage.stack([self._kept[mix][:2] for mix, _ in often])
        counts = np.array([count for _, count in often])
        if counts.max(initial=1) > 1:
            usage = Usage(usage.flow, usage.resource, usage.weight * counts[usage.flow])
        rates, limits = fair_shares(usage, self.capacity, len(often))
        rate = {mix: rate for (mix, _), rate in zip(often, rates.tolist(), strict=True)}
        return rate, bool(limits[self._watched].any())


def simulate(
    flows: Sequence[Flow],
    capacity: Floats,
    table: Rates | None = None,
    scale: float = 1.0,
    carried: Floats | None = None,
) -> Outcome:
    """Carry all flows out. `capacity`: bytes/s per resource, that of `table` if one is given. `scale`
    multiplies the size of every flow. `carried`: what comes out as that, where the caller knows it.

    Raises ValueError when a flow can never end (a resource without capacity) or waits in a circle.
    """
    table = table or Rates(capacity)
    if len(flows) > FEW and all(not f.after and f.times == 1 for f in flows):
        return _at_once(flows, table, scale, carried)
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
    if carried is None:
        carried = _carried(flows, len(capacity)) * scale
    return Outcome(arrival, carried, total, watched)


def _at_once(flows: Sequence[Flow], table: Rates, scale: float, carried: Floats | None) -> Outcome:
    """Nobody waits for another."""
    sizes = np.array([flow.size if len(flow.resources) else 0.0 for flow in flows]) * scale
    begins = np.array([flow.before for flow in flows], dtype=np.int64)
    mixes = [table.name(flow) for flow in flows]
    left, watched = burst(mixes, sizes, begins, table, float(TICKS_PER_SECOND), HALF)
    late = np.array([flow.latency for flow in flows], dtype=np.int64)
    arrival = (left + late).tolist()
    if carried is None:
        carried = _carried(flows, len(table.capacity)) * scale
    return Outcome(arrival, carried, max(arrival), watched)


def _carried(flows: Sequence[Flow], count: int) -> Floats:
    """Bytes over each of `count` resources."""
    if not flows:
        return np.zeros(count)
    resources = np.concatenate([flow.resources for flow in flows])
    weights = np.concatenate([flow.weights for flow in flows])
    amounts = np.array([flow.size * flow.times for flow in flows])
    weights *= np.repeat(amounts, [len(flow.resources) for flow in flows])
    return np.bincount(resources, weights, minlength=count).astype(np.float64)


_NEVER = 1 << 62
