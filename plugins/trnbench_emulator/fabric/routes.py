"""Cheapest routes over directed links, searched when they are asked for.

Minimal and deterministic: from each node traffic splits over all next hops of a cheapest route, in
proportion to their bandwidth.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from trnbench.record import Record
from trnbench.topology import Link
from trnbench_emulator.fabric.maxmin import Floats, Indices


class Route(Record):
    """Resources one flow uses, in shares, and the ticks its first byte needs (slowest share)."""

    resources: Indices
    weights: Floats
    latency: int
    hops: int


class Routes:
    """Among nodes 0…`nodes`−1, each with the links that are `leaving` it. By link: `bandwidth` in bytes/s,
    `latency` in ticks, `cost` in whole numbers that a search adds up."""

    def __init__(
        self,
        nodes: int,
        links: Sequence[Link],
        *,
        bandwidth: Floats,
        latency: Sequence[int],
        cost: Sequence[int],
    ) -> None:
        self.nodes = nodes
        self.latency, self.cost = latency, cost
        self._rate: list[float] = bandwidth.tolist()
        self._from = [link.src for link in links]
        self._to = [link.dst for link in links]
        self._in: list[list[int]] = [[] for _ in range(nodes)]
        self.leaving: list[list[int]] = [[] for _ in range(nodes)]
        for i, link in enumerate(links):
            self.leaving[link.src].append(i)
            self._in[link.dst].append(i)
        self._searches: dict[int, tuple[list[int], list[tuple[int, int]]]] = {}
        self._onward: dict[int, dict[int, tuple[list[int], float]]] = {}
        self._between: dict[tuple[int, int], tuple[Route | None, float, dict[int, float]]] = {}

    def distances(self, target: int, until: int | None = None) -> list[int]:
        """Cost from every node to node `target`; −1 where there is no way. With `until`, only those that are
        no farther than that node are sure to be there.
        """
        known, queue = self._searches.setdefault(target, ([-1] * self.nodes, [(0, target)]))
        cost, source = self.cost, self._from
        while queue and (until is None or known[until] < 0):
            far, node = heapq.heappop(queue)
            if known[node] >= 0:
                continue
            known[node] = far
            for i in self._in[node]:
                if known[source[i]] < 0:
                    heapq.heappush(queue, (far + cost[i], source[i]))
        return known

    def nexts(self, node: int, distance: Sequence[int]) -> tuple[list[int], float]:
        """Links from `node` that begin a cheapest route, and their bandwidth together."""
        here, cost, there = distance[node], self.cost, self._to
        found = [i for i in self.leaving[node] if distance[there[i]] == here - cost[i] >= 0]
        return found, float(sum(self._rate[i] for i in found))

    def between(self, start: int, target: int) -> Route | None:
        """Shares of every link for bytes from one node to another; None where there is no way.

        Nodes that hang on one other, such as the cores of a device, share what is searched for that one.
        """
        leaves, enters = self.leaving[start], self._in[target]
        if start == target or len(leaves) != 1 or len(enters) != 1:
            return self._whole(start, target)[0]
        (first,), (last,) = leaves, enters
        here, there = self._to[first], self._from[last]
        if here == target or there == start:
            return self._whole(start, target)[0]
        key = (here, there)
        if key not in self._between:
            self._between[key] = *self._whole(here, there), {}
        inner, arriving, shares = self._between[key]
        if inner is None:
            return None
        if not shares:
            shares.update(zip(inner.resources.tolist(), inner.weights.tolist(), strict=True))
        # What arrives can differ from the whole by rounding.
        shares = {first: 1.0, **shares, last: arriving * self._rate[last] / self._rate[last]}
        order = sorted(shares)
        return Route(
            np.array(order, dtype=np.intp),
            np.array([shares[i] for i in order]),
            self.latency[first] + inner.latency + self.latency[last],
            inner.hops + 2,
        )

    def _whole(self, start: int, target: int) -> tuple[Route | None, float]:
        """The route, and how much of the bytes arrives: all of them but for rounding."""
        distance = self.distances(target, start)
        if distance[start] < 0:
            return None, 0.0
        share = {start: 1.0}
        late = {start: 0}
        used: dict[int, float] = {}
        hops = {start: 0}
        queue = [(-distance[start], start)]
        rates, ends, latencies = self._rate, self._to, self.latency
        onward = self._onward.setdefault(target, {})  # the same for all that come by a node
        while queue:  # farthest first: a node's share is whole before it is passed on
            _, node = heapq.heappop(queue)
            if node not in onward:
                onward[node] = self.nexts(node, distance)
            nexts, total = onward[node]
            mine, since, count = share[node], late[node], hops[node] + 1
            for i in nexts:
                part = mine * rates[i] / total
                used[i] = part
                there = ends[i]
                if there not in share:
                    share[there], late[there], hops[there] = 0.0, 0, 0
                    heapq.heappush(queue, (-distance[there], there))
                share[there] += part
                if since + latencies[i] > late[there]:
                    late[there] = since + latencies[i]
                if count > hops[there]:
                    hops[there] = count
        order = sorted(used)
        route = Route(
            np.array(order, dtype=np.intp),
            np.array([used[i] for i in order]),
            late[target],
            hops[target],
        )
        return route, share[target]
