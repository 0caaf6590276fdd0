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

import numpy as np

from trnbench.record import Record
from trnbench_emulator import HALF, TICKS_PER_SECOND
from trnbench_emulator.fabric.flow import Together
from trnbench_emulator.fabric.maxmin import Floats
from trnbench_emulator.fabric.rates import Rates

FEW = 8
"""Flows up to which those that wait for nobody go through the queue of events: it is sooner done."""

_NEVER = int(np.iinfo(np.int64).max)


class Outcome(Record):
    """`arrival` ticks per flow, chain or class; `carried` bytes per resource; `watched`: whether a resource
    that is watched ever limited a flow.
    """

    arrival: list[int]
    carried: Floats
    total: int
    watched: bool = True


class _Active:
    """Flows under way, in order; in the same places the mix, the bytes left and the rate of each."""

    def __init__(self, table: Rates, union: tuple[int, ...]) -> None:
        self._table, self._union = table, union
        self._flows: list[int] = []
        self._mixes: list[int] = []
        self._left: list[float] = []
        self._rates: list[float] = []
        self._lasts: list[float] = []
        self._since = 0  # when the rates became what they are, and the bytes left were worked out
        self.ending = self._soonest = _NEVER  # when the first of them end, and how long after `_since`
        self.watched = False

    def end(self, now: int) -> list[int]:
        """Those that end now, which leave."""
        self._left = _left(self._left, self._rates, now - self._since)
        self._since = now
        done = []
        per_second, end = float(TICKS_PER_SECOND), self._soonest + 1
        for index in range(len(self._flows) - 1, -1, -1):
            if self._lasts[index] * per_second + HALF < end:
                done.append(self._flows.pop(index))
                del self._mixes[index], self._left[index]
        return done

    def begin(self, now: int, flow: int, mix: int, size: float) -> None:
        """One more, of so many bytes; rates hold again after `share`."""
        if self._since != now:
            self._left = _left(self._left, self._rates, now - self._since)
            self._since = now
        index = bisect(self._flows, flow)
        self._flows.insert(index, flow)
        self._mixes.insert(index, mix)
        self._left.insert(index, size)

    def share(self, now: int) -> None:
        """Rates of those under way, and when the first of them end."""
        self.ending, self._rates = _NEVER, []
        if not self._flows:
            return
        self._rates, limited = self._table.of(tuple(self._mixes), self._union)
        self.watched |= limited
        if 0.0 in self._rates:
            pairs = zip(self._left, self._rates, strict=True)
            self._lasts = [left / rate if rate > 0 else math.inf for left, rate in pairs]
        else:
            self._lasts = list(map(truediv, self._left, self._rates))
        first = min(self._lasts)
        if first < math.inf:
            # As `ticks` rounds, which keeps the order; spelt out, for nothing is computed as often.
            self._soonest = math.floor(first * float(TICKS_PER_SECOND) + HALF)
            self.ending = now + self._soonest


def simulate(together: Together, table: Rates, scale: float = 1.0, carried: Floats | None = None) -> Outcome:
    """Carry all flows out. `scale` multiplies the size of every flow. `carried`: what comes out as that,
    where the caller knows it.

    Raises ValueError when a flow can never end (a resource without capacity) or waits in a circle.
    """
    if carried is None:
        carried = together.carried(len(table.capacity), scale)
    if len(together) > FEW and together.unrelated:
        return _at_once(together, table, scale, carried)
    flows, order, (mixes, union) = together.flows, together.order, table.names(together)
    dependents, empty = order.dependents, order.empty
    before, latency = together.before.tolist(), together.latency.tolist()
    waiting, starts = order.waiting.copy(), order.starts.copy()
    arrival = [-1] * len(flows)
    arrivals: list[tuple[int, int]] = []
    active = _Active(table, union)
    open_count = len(flows)
    push, pop = heapq.heappush, heapq.heappop
    while open_count:
        now = active.ending
        if starts and starts[0][0] < now:
            now = starts[0][0]
        if arrivals and arrivals[0][0] < now:
            now = arrivals[0][0]
        if now == _NEVER:
            stuck = sum(when < 0 for when in arrival)
            raise ValueError(f"{stuck} flows can never end: a link without bandwidth, or a circle")
        changed = active.ending == now
        if changed:
            for index in active.end(now):
                push(arrivals, (now + latency[index], index))
        while arrivals and arrivals[0][0] == now:
            index = pop(arrivals)[1]
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
            active.begin(now, index, mixes[index], flows[index].size * scale)
            changed = True
        if changed:
            active.share(now)
    return Outcome(arrival, carried, max(arrival, default=0), active.watched)


def _left(remaining: list[float], rates: Sequence[float], ticks: int) -> list[float]:
    """Bytes after so many ticks."""
    if not ticks:
        return remaining
    passed, per_second = float(ticks), float(TICKS_PER_SECOND)
    return [left - rate * passed / per_second for left, rate in zip(remaining, rates, strict=True)]


def _at_once(together: Together, table: Rates, scale: float, carried: Floats) -> Outcome:
    """Nobody waits for another: each takes its share of resources from its own tick on, and has left at once
    where it has no bytes.
    """
    sizes, begins, (mixes, _) = together.sizes * scale, together.before, table.names(together)
    per_second = float(TICKS_PER_SECOND)
    left = begins.copy()
    watched = False
    active = np.flatnonzero(sizes > 0)
    remaining, begin, mix = sizes[active], begins[active], np.array(mixes, dtype=np.intp)[active]
    several = len(set(begins.tolist())) > 1 and len(set(mixes)) == len(mixes)
    among = table.among(tuple(mixes)) if several else None
    now = int(begin.min()) if len(active) else 0
    while len(active):
        started = begin <= now
        everyone = bool(started.all())
        rate = np.zeros(len(active))
        if among is not None:
            members = np.zeros(len(mixes), np.bool_)
            members[active[started]] = True
            shares, limited = among.of(members)
            rate[started] = shares[active[started]]
        else:
            rate[started], limited = table.of(tuple((mix if everyone else mix[started]).tolist()))
        watched |= limited
        moving = rate > 0
        if everyone and not moving.any():
            raise ValueError(f"{len(active)} flows can never end: a link without bandwidth, or a circle")
        ends = np.full(len(active), _NEVER)
        ends[moving] = now + np.floor(remaining[moving] / rate[moving] * per_second + HALF).astype(np.int64)
        upcoming = int(ends.min())
        if not everyone:
            upcoming = min(upcoming, int(begin[~started].min()))
        done = ends == upcoming
        left[active[done]] = upcoming
        kept = ~done
        remaining = remaining[kept] - rate[kept] * (upcoming - now) / per_second
        now = upcoming
        active, begin, mix = active[kept], begin[kept], mix[kept]
    arrival = (left + together.latency).tolist()
    return Outcome(arrival, carried, max(arrival), watched)
