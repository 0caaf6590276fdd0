"""Cheapest routes over directed links, searched when they are asked for.

Minimal and deterministic: from each node traffic splits over all next hops of a cheapest route, in
proportion to their bandwidth.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import msgspec
import numpy as np

from trnbench.emulator.fabric.maxmin import Floats, Indices
from trnbench.topology.graph import Link


class Route(msgspec.Struct, frozen=True):
    """Resources one flow uses, in shares, and the ticks its first byte needs (slowest share)."""

    resources: Indices
    weights: Floats
    latency: int
    hops: int


class Routes:
    """Among nodes 0…`nodes`−1. By link: `bandwidth` in bytes/s, `latency` in ticks, `cost` in whole numbers
    that a search adds up."""

    def __init__(
        self,
        nodes: int,
        links: Sequence[Link],
        *,
        bandwidth: Floats,
        latency: Sequence[int],
        cost: Sequence[int],
    ) -> None:
        self.nodes, self.links = nodes, links
        self.bandwidth, self.latency, self.cost = bandwidth, latency, cost
        self._in: list[list[int]] = [[] for _ in range(nodes)]
        self._out: list[list[int]] = [[] for _ in range(nodes)]
        for i, link in enumerate(links):
            self._out[link.src].append(i)
            self._in[link.dst].append(i)
        self._searches: dict[int, tuple[list[int], list[tuple[int, int]]]] = {}

    def distances(self, target: int, until: int | None = None) -> list[int]:
        """Cost from every node to node `target`; −1 where there is no way. With `until`, only those that are
        no farther than that node are sure to be there.
        """
        known, queue = self._searches.setdefault(target, ([-1] * self.nodes, [(0, target)]))
        while queue and (until is None or known[until] < 0):
            cost, node = heapq.heappop(queue)
            if known[node] >= 0:
                continue
            known[node] = cost
            for i in self._in[node]:
                if known[self.links[i].src] < 0:
                    heapq.heappush(queue, (cost + self.cost[i], self.links[i].src))
        return known

    def nexts(self, node: int, distance: Sequence[int]) -> tuple[list[int], float]:
        """Links from `node` that begin a cheapest route, and their bandwidth together."""
        found = [
            i for i in self._out[node] if distance[self.links[i].dst] == distance[node] - self.cost[i] >= 0
        ]
        return found, float(sum(self.bandwidth[i] for i in found))

    def between(self, start: int, target: int) -> Route | None:
        """Shares of every link for bytes from one node to another; None where there is no way."""
        distance = self.distances(target, start)
        if distance[start] < 0:
            return None
        share = {start: 1.0}
        late = {start: 0}
        used: dict[int, float] = {}
        hops = {start: 0}
        queue = [(-distance[start], start)]
        while queue:  # farthest first: a node's share is whole before it is passed on
            _, node = heapq.heappop(queue)
            nexts, total = self.nexts(node, distance)
            for i in nexts:
                part = share[node] * float(self.bandwidth[i]) / total
                used[i] = part
                there = self.links[i].dst
                if there not in share:
                    share[there], late[there], hops[there] = 0.0, 0, 0
                    heapq.heappush(queue, (-distance[there], there))
                share[there] += part
                late[there] = max(late[there], late[node] + self.latency[i])
                hops[there] = max(hops[there], hops[node] + 1)
        order = sorted(used)
        return Route(
            np.array(order, dtype=np.intp),
            np.array([used[i] for i in order]),
            late[target],
            hops[target],
        )
