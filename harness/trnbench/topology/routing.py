"""Minimal routes, deterministic, cheap on 30,000 devices.

A route climbs no higher in the hierarchy than it must: links of a lower `level` are preferred, then
fewer links. It may pass devices, switches, adapters and the network, never a host. The graph falls
into islands (what links below the adapters connect); within a torus or a switch the answer is a
closed form, elsewhere one search per destination inside its island; between islands a route is the
best way out of one, across the network, and the best way into the other.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from functools import cached_property
from operator import add
from typing import TypeAlias

from trnbench.errors import TopologyError
from trnbench.topology.graph import Link, NodeKind, Topology, torus_sides

Cost: TypeAlias = tuple[int, ...]
"""Links crossed on each level, highest level first: compared like a number of several digits."""


class Router:
    """Routes of one topology; what was searched once is kept."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self._levels = 1 + max((link_class.level for link_class in topology.classes.values()), default=0)
        self._level = {name: link_class.level for name, link_class in topology.classes.items()}
        self._units = {name: self._crossed(level) for name, level in self._level.items()}
        self._costs: dict[tuple[int, int | None], dict[int, Cost]] = {}
        self._near: dict[int, set[int]] = {}
        self._entered: dict[int, list[tuple[int, int]]] = {}
        self._exits: dict[tuple[int, int], Cost | None] = {}
        self._torus_sides = torus_sides(topology)

    # --- questions ----------------------------------------------------------------------------------

    def distance(self, src: int, dst: int) -> int:
        """Links crossed on a minimal route. Raises `TopologyError` when there is none."""
        return sum(self.cost(src, dst))

    def cost(self, src: int, dst: int) -> Cost:
        """Links crossed, by level, highest first. Raises `TopologyError` when there is no route."""
        cost = self._cost(src, dst)
        if cost is None:
            raise self._unreachable(src, dst)
        return cost

    def first_hops(self, src: int, dst: int) -> tuple[Link, ...]:
        """The links out of `src` with which a minimal route can begin, in insertion order."""
        if src == dst:
            return ()
        here = self.cost(src, dst)
        return tuple(
            link
            for link in self._onwards(src, dst)
            if self._passable(link.dst, dst)
            and (onward := self._cost(link.dst, dst)) is not None
            and _plus(onward, self._unit(link)) == here
        )

    def route(self, src: int, dst: int) -> tuple[Link, ...]:
        """One minimal route: always the first of the equal hops."""
        path = []
        while src != dst:
            hop = self.first_hops(src, dst)[0]
            path.append(hop)
            src = hop.dst
        return tuple(path)

    def routes(self, src: int, dst: int) -> Iterator[tuple[Link, ...]]:
        """Every minimal route, in a fixed order."""
        if src == dst:
            yield ()
            return
        for hop in self.first_hops(src, dst):
            for route in self.routes(hop.dst, dst):
                yield (hop, *route)

    def way_out(self, node: int) -> int:
        """Links from a device to the nearest network. Raises `TopologyError` when there is none."""
        ways = [way for network in self._networks if (way := self._to_network(node, network)) is not None]
        if not ways:
            name = self.topology.nodes[node].name
            raise TopologyError(
                f"{self.topology.name}: {name} has no way to the network",
                cause="the device is joined to no network adapter, or the graph is not connected",
                try_=f"trnbench topology check {self.topology.name}",
            )
        return sum(min(ways))

    def _onwards(self, src: int, dst: int) -> Sequence[Link]:
        """The links out of `src` that a route to `dst` can take; out of a network only those near `dst`."""
        island = self.island_of[dst]
        if self.topology.nodes[src].kind != NodeKind.NETWORK or island < 0:
            return self.topology.out[src]
        near = {link.dst for node in self.islands[island] for link in self.topology.out[node]} & self.outer
        return [link for gate in sorted(near) for link in self.into[gate] if link.src == src]

    # --- islands: which one every node is in, and what joins them; worked out when first asked for -------

    @cached_property
    def outer(self) -> frozenset[int]:
        """Adapters and networks: what joins islands."""
        kinds = (NodeKind.ADAPTER, NodeKind.NETWORK)
        return frozenset(node.id for node in self.topology.nodes if node.kind in kinds)

    @cached_property
    def island_of(self) -> list[int]:
        """For every node the number of its island; −1 for hosts, adapters and networks."""
        out = self.topology.out
        apart = self.outer | {node.id for node in self.topology.of_kind(NodeKind.HOST)}
        unseen = len(out)
        island = [-1 if node in apart else unseen for node in range(len(out))]
        number = 0
        for start in range(len(out)):
            if island[start] != unseen:
                continue
            island[start] = number
            stack = [start]
            while stack:
                for link in out[stack.pop()]:
                    if island[link.dst] == unseen:
                        island[link.dst] = number
                        stack.append(link.dst)
            number += 1
        return island

    @cached_property
    def islands(self) -> tuple[tuple[int, ...], ...]:
        """Node ids of every island, in the order of their first node."""
        members: list[list[int]] = [[] for _ in range(max(self.island_of, default=-1) + 1)]
        for node, island in enumerate(self.island_of):
            if island >= 0:
                members[island].append(node)
        return tuple(map(tuple, members))

    @cached_property
    def into(self) -> tuple[tuple[Link, ...], ...]:
        """Links that enter each node."""
        lists: list[list[Link]] = [[] for _ in self.topology.nodes]
        for link in self.topology.links:
            lists[link.dst].append(link)
        return tuple(map(tuple, lists))

    # --- how they are answered ----------------------------------------------------------------------

    def _crossed(self, level: int, links: int = 1) -> Cost:
        """The cost of so many links of one level."""
        digits = [0] * self._levels
        digits[self._levels - 1 - level] = links
        return tuple(digits)

    def _unit(self, link: Link) -> Cost:
        return self._units[link.cls]

    def _passable(self, node: int, dst: int) -> bool:
        return node == dst or self.topology.nodes[node].kind != NodeKind.HOST

    def _cost(self, src: int, dst: int) -> Cost | None:
        if src == dst:
            return (0,) * self._levels
        out_cost, in_cost = self.island_of[src], self.island_of[dst]
        if out_cost >= 0 and out_cost == in_cost:
            direct = self._by_torus(src, dst) or self._by_switch(src, dst)
            return direct or self._costs_to(dst, out_cost).get(src)
        if out_cost >= 0 and in_cost >= 0:
            return self._across(src, dst)
        if src in self.outer and in_cost >= 0:
            return self._inwards(src, dst)
        return self._costs_to(dst, None).get(src)

    def _by_torus(self, src: int, dst: int) -> Cost | None:
        """In a torus each axis costs the shorter way around."""
        if self._torus_sides is None:
            return None
        src_coord, dst_coord = self.topology.nodes[src], self.topology.nodes[dst]
        if src_coord.kind != NodeKind.DEVICE or dst_coord.kind != NodeKind.DEVICE:
            return None
        sides = self._torus_sides
        pairs = zip(src_coord.coord[-len(sides) :], dst_coord.coord[-len(sides) :], sides, strict=True)
        hops = sum(min(abs(a - b), side - abs(a - b)) for a, b, side in pairs)
        return self._crossed(0, hops)

    def _by_switch(self, src: int, dst: int) -> Cost | None:
        """A direct link, else a shared switch, on the lowest level: nothing can be shorter."""
        near = self._beside(src)
        if dst in near:
            return self._crossed(0)
        hubs = near & self._switches
        if hubs and not hubs.isdisjoint([link.src for link in self.into[dst] if self._level[link.cls] == 0]):
            return self._crossed(0, 2)
        return None

    @cached_property
    def _switches(self) -> frozenset[int]:
        return frozenset(node.id for node in self.topology.of_kind(NodeKind.SWITCH))

    def _beside(self, node: int) -> set[int]:
        """Whither links of the lowest level lead from `node`."""
        if node not in self._near:
            self._near[node] = {link.dst for link in self.topology.out[node] if self._level[link.cls] == 0}
        return self._near[node]

    def _costs_to(self, dst: int, island: int | None) -> dict[int, Cost]:
        """Costs to `dst` from everywhere in its island, without leaving it.

        Over the whole graph where that is None: only asked for when `dst` is no device, switch or core.
        """
        key = (dst, island)
        if key not in self._costs:
            self._costs[key] = self._search(dst, island)
        return self._costs[key]

    def _search(self, dst: int, island: int | None) -> dict[int, Cost]:
        island_of, nodes = self.island_of, self.topology.nodes
        # A cost and a node are one whole number, ordered as the pair of them: links on each level are digits,
        # and so is the node behind them. A minimal route has fewer links than there are nodes.
        base = len(nodes)
        closest: dict[int, int] = {}
        waiting = [dst]
        while waiting:
            reached = heapq.heappop(waiting)
            node = reached % base
            if node in closest:
                continue
            cost = closest[node] = reached - node
            if node != dst and nodes[node].kind == NodeKind.HOST:
                continue
            for src, unit in self._entries(node):
                if src not in closest and (island is None or island_of[src] == island):
                    heapq.heappush(waiting, cost + unit + src)
        digits = [base ** (level + 1) for level in reversed(range(self._levels))]
        unpacked = {cost: tuple([cost // digit % base for digit in digits]) for cost in set(closest.values())}
        return {node: unpacked[cost] for node, cost in closest.items()}

    def _entries(self, node: int) -> list[tuple[int, int]]:
        """Where links into `node` come from, and what each costs as a number of `_search`."""
        if node not in self._entered:
            base = len(self.topology.nodes)
            self._entered[node] = [
                (link.src, base ** (self._level[link.cls] + 1)) for link in self.into[node]
            ]
        return self._entered[node]

    def _across(self, src: int, dst: int) -> Cost | None:
        ways = []
        for network in self._networks:
            out, back = self._to_network(src, network), self._to_network(dst, network)
            if out is not None and back is not None:
                ways.append(_plus(out, back))
        return min(ways, default=None)

    def _inwards(self, src: int, dst: int) -> Cost | None:
        """From an adapter or a network into an island."""
        if self.topology.nodes[src].kind == NodeKind.NETWORK:
            return self._to_network(dst, src)
        ways = []
        for link in self.topology.out[src]:
            near = self.island_of[link.dst] == self.island_of[dst]
            if near or self.topology.nodes[link.dst].kind == NodeKind.NETWORK:
                onward = self._cost(link.dst, dst)
                if onward is not None:
                    ways.append(_plus(onward, self._unit(link)))
        return min(ways, default=None)

    @cached_property
    def _networks(self) -> tuple[int, ...]:
        return tuple(node.id for node in self.topology.of_kind(NodeKind.NETWORK))

    def _to_network(self, node: int, network: int) -> Cost | None:
        """The best way from `node` to `network`; the way back costs the same, cables go both ways."""
        if (node, network) in self._exits:
            return self._exits[node, network]
        best: Cost | None = None
        island = self.island_of[node]
        for gate in self.islands[island]:
            for link in self.topology.out[gate]:
                for up in self.topology.out[link.dst] if link.dst in self.outer else ():
                    if up.dst == network:
                        inner = self._cost(node, gate)
                        if inner is not None:
                            cost = _plus(_plus(inner, self._unit(link)), self._unit(up))
                            best = cost if best is None else min(best, cost)
        self._exits[node, network] = best
        return best

    def _unreachable(self, src: int, dst: int) -> TopologyError:
        nodes = self.topology.nodes
        return TopologyError(
            f"{self.topology.name}: no route from {nodes[src].name} to {nodes[dst].name}",
            cause="the graph is not connected, or only a host joins the two",
            try_=f"trnbench topology check {self.topology.name}",
        )


def _plus(one: Cost, other: Cost) -> Cost:
    return tuple(map(add, one, other))
