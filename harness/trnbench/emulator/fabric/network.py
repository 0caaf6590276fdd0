"""The links that a collective may use, and how one rank's bytes travel to another's.

Routing is minimal and deterministic: a route climbs no higher in the hierarchy of link levels than
it must, then takes the fewest links; from each node traffic splits over all next hops on such a
route, in proportion to their bandwidth. A direct link beats a detour however wide.
"""

from __future__ import annotations

import copy
import heapq
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from trnbench.emulator.fabric.fluid import ticks
from trnbench.emulator.fabric.maxmin import Floats, Indices
from trnbench.emulator.fabric.symmetry import Symmetry, find_symmetry
from trnbench.errors import TopologyError
from trnbench.topology.graph import Link, LinkKind, Node, NodeKind, Topology

RATES, PLANS, SOLVED, ORBITS = "rates", "plans", "solved", "orbit shares"
OF_CAPACITY = (RATES, PLANS, SOLVED, ORBITS)
"""Of `Network.memo`, what holds for one capacity of links and memories: the rates of mixes of links, what was
found out about plans that are carried out again and again, the latest answers, shares of an orbit."""

_CLIMB = 1 << 12
"""Cost of a link one level up, in links of the level below: more than any route has."""


class Route(msgspec.Struct, frozen=True):
    """Resources one flow uses, in shares, and the ticks its first byte needs (slowest share)."""

    resources: Indices
    weights: Floats
    latency: int
    hops: int


class Network:
    """A topology's links as resources 0…L−1, and each device's memory as resource L + device.

    `ranks` are node ids of the topology in rank order. `kinds` limits which links may carry traffic.
    `memory` is a device's bandwidth in bytes/s for the accesses that sends and reductions make at
    the ends; infinite leaves them out. `shared` numbers the device of every rank (one each if not
    given): ranks of one device share its memory. `slow` multiplies the memory bandwidth of single
    devices, `late` says how many ticks after the others a rank begins: stragglers. `efficiency` is the
    share of its bandwidth that a kind of link reaches, `quicker` divides its latency where several
    messages are on the way at once. `scale` multiplies single links' bandwidth ((src, dst) → factor): a
    slow or dead link.
    """

    def __init__(
        self,
        topology: Topology,
        *,
        ranks: Sequence[int] | None = None,
        kinds: Collection[LinkKind] = frozenset(LinkKind),
        memory: float = float("inf"),
        shared: Sequence[int] | None = None,
        slow: dict[int, float] | None = None,
        efficiency: dict[LinkKind, float] | None = None,
        quicker: dict[LinkKind, float] | None = None,
        scale: dict[tuple[int, int], float] | None = None,
        late: dict[int, int] | None = None,
    ) -> None:
        self.topology = topology
        wanted = [n.id for n in topology.devices] if ranks is None else list(ranks)
        scale = scale or {}
        kept = [link for link in topology.links if topology.classes[link.cls].kind in kinds]
        kept = [link for link in kept if scale.get((link.src, link.dst), 1.0) > 0]
        touched = sorted({n for link in kept for n in (link.src, link.dst)} | set(wanted))
        position = {node: i for i, node in enumerate(touched)}
        self.nodes: list[Node] = [topology.nodes[i] for i in touched]
        self.ranks: list[int] = [position[node] for node in wanted]
        self.links = [Link(position[link.src], position[link.dst], link.cls) for link in kept]
        reached = efficiency or {}
        factors = [
            scale.get((link.src, link.dst), 1.0) * reached.get(topology.classes[link.cls].kind, 1.0)
            for link in kept
        ]
        self.bandwidth: Floats = np.array(
            [topology.bandwidth(link) * f for link, f in zip(kept, factors, strict=True)], dtype=float
        )
        if len(self.bandwidth) and not (self.bandwidth > 0).all():
            raise TopologyError(
                f"{topology.name}: a link has no bandwidth",
                cause="a bandwidth of zero or below in the facts or in --degrade",
                try_="trnbench topology show " + topology.name,
            )
        self.cost: list[int] = [_CLIMB ** topology.classes[link.cls].level for link in kept]
        sooner = quicker or {}
        self.latency: list[int] = [
            ticks(topology.latency(link) / sooner.get(topology.classes[link.cls].kind, 1.0)) for link in kept
        ]
        self.shared = tuple(range(len(wanted)) if shared is None else shared)
        """The device of every rank, numbered from 0."""
        memories = np.full(max(self.shared, default=-1) + 1, memory)
        for device, factor in (slow or {}).items():
            memories[device] *= factor
        self.capacity: Floats = np.concatenate([self.bandwidth, memories])
        self.late: tuple[int, ...] = tuple((late or {}).get(r, 0) for r in range(len(wanted))) if late else ()
        """Ticks at which every rank begins; empty where all begin at once."""
        self._in: list[list[int]] = [[] for _ in self.nodes]
        self._out: list[list[int]] = [[] for _ in self.nodes]
        for i, link in enumerate(self.links):
            self._out[link.src].append(i)
            self._in[link.dst].append(i)
        self._searches: dict[int, tuple[list[int], list[tuple[int, int]]]] = {}
        self._routes: dict[tuple[int, int], Route] = {}
        self.memo: dict[object, Any] = {}  # what algorithms derive from the links alone

    @property
    def size(self) -> int:
        return len(self.ranks)

    @property
    def has_memory(self) -> bool:
        """Whether accesses at the ends cost anything."""
        return bool(self.size) and bool(np.isfinite(self.capacity[-1]))

    @cached_property
    def ranks_per_device(self) -> int:
        """How many ranks share a device; 0 where devices have different numbers."""
        counts = set(np.bincount(self.shared).tolist()) if self.size else {1}
        return counts.pop() if len(counts) == 1 else 0

    @cached_property
    def symmetry(self) -> Symmetry | None:
        """Translations that keep every link's class, bandwidth and latency; None if there are none."""
        memories = self.capacity[len(self.links) :]
        if any(self.late) or (len(memories) and (memories != memories[0]).any()):
            return None  # a straggler makes the ranks unlike
        kinds = [
            (link.cls, float(b), t)
            for link, b, t in zip(self.links, self.bandwidth, self.latency, strict=True)
        ]
        return find_symmetry(self.nodes, self.links, self.ranks, kinds)

    @cached_property
    def with_free_memory(self) -> Network:
        """The same links, accesses at the ends for nothing."""
        other = copy.copy(self)
        other.capacity = self.capacity.copy()
        other.capacity[len(self.links) :] = np.inf
        other.__dict__.pop("orbit_capacity", None)
        other.memo = {key: known for key, known in self.memo.items() if key not in OF_CAPACITY}
        return other

    def pairs(self, offset: tuple[int, ...]) -> list[tuple[int, int]]:
        """(from, to) of every rank under a translation. Raises ValueError where there is none."""
        if self.symmetry is None:
            raise ValueError("a translation on a network that has no translations")
        found: list[tuple[int, int]] | None = self.memo.get(("pairs", offset))
        if found is None:
            found = [(rank, self.symmetry.shifted(rank, offset)) for rank in range(self.size)]
            self.memo["pairs", offset] = found
        return found

    def part(self, ranks: Sequence[int]) -> Network:
        """The same links with some of the ranks, renumbered from 0 in the order given.

        For planning only: links to devices that hold none of them are left out, and so is the way over
        hosts and adapters, which makes the symmetry of a server or of a group on a torus visible. What
        is planned is carried out on the whole network.
        """
        kept = {self.nodes[self.ranks[rank]].id for rank in ranks}
        over = {link.src: link.dst for link in self.links if self.nodes[link.src].kind is NodeKind.CORE}
        kept |= {self.nodes[over[self.ranks[rank]]].id for rank in ranks if self.ranks[rank] in over}
        kept |= {node.id for node in self.nodes if node.kind is NodeKind.SWITCH}
        links = tuple(
            Link(self.nodes[link.src].id, self.nodes[link.dst].id, link.cls)
            for link in self.links
            if self.nodes[link.src].id in kept and self.nodes[link.dst].id in kept
        )
        devices = {device: i for i, device in enumerate(dict.fromkeys(self.shared[r] for r in ranks))}
        return Network(
            msgspec.structs.replace(self.topology, links=links),
            ranks=[self.nodes[self.ranks[rank]].id for rank in ranks],
            shared=[devices[self.shared[rank]] for rank in ranks],
        )

    def distances(self, target: int, until: int | None = None) -> list[int]:
        """Cost from every node to node `target`; −1 where there is no way. With `until`, only those that are
        no farther than that node are sure to be there.
        """
        known, queue = self._searches.setdefault(target, ([-1] * len(self.nodes), [(0, target)]))
        while queue and (until is None or known[until] < 0):
            cost, node = heapq.heappop(queue)
            if known[node] >= 0:
                continue
            known[node] = cost
            for i in self._in[node]:
                if known[self.links[i].src] < 0:
                    heapq.heappush(queue, (cost + self.cost[i], self.links[i].src))
        return known

    def _nexts(self, node: int, distance: list[int]) -> list[int]:
        """Links from `node` that begin a cheapest route."""
        return [
            i for i in self._out[node] if distance[self.links[i].dst] == distance[node] - self.cost[i] >= 0
        ]

    def route(self, src: int, dst: int) -> Route:
        """Shares of every link for bytes from rank `src` to rank `dst`.

        Raises TopologyError when the two are not connected.
        """
        key = (src, dst)
        found = self._routes.get(key)
        if found is None:
            found = self._routes[key] = self._find(self.ranks[src], self.ranks[dst])
        return found

    def _find(self, start: int, target: int) -> Route:
        distance = self.distances(target, start)
        if distance[start] < 0:
            names = self.nodes[start].name, self.nodes[target].name
            raise TopologyError(
                f"{self.topology.name}: no route from {names[0]} to {names[1]}",
                cause="the links left after --degrade or the chosen link kinds do not connect them",
                try_="trnbench topology check " + self.topology.name,
            )
        share = {start: 1.0}
        late = {start: 0}
        used: dict[int, float] = {}
        hops = {start: 0}
        queue = [(-distance[start], start)]
        while queue:  # farthest first: a node's share is whole before it is passed on
            _, node = heapq.heappop(queue)
            nexts = self._nexts(node, distance)
            total = float(sum(self.bandwidth[i] for i in nexts))
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

    @cached_property
    def orbit_capacity(self) -> Floats:
        """Bytes/s of one member of each link orbit, then of one device's memory."""
        assert self.symmetry is not None
        count = len(self.symmetry.orbit_size)
        capacity = np.zeros(count + 1)
        capacity[self.symmetry.link_orbit] = self.bandwidth
        capacity[count] = self.capacity[-1] if self.size else np.inf
        return capacity

    @cached_property
    def orbit_routes(self) -> dict[tuple[int, ...], Route]:
        """For every translation, what all its flows together take of one member of each link orbit.

        By dynamic programming from rank 0 outwards: the shares of a node are the mean of its next
        hops' shares, weighted by bandwidth, plus the hop itself. Exact, one pass over the links.
        """
        symmetry = self.symmetry
        assert symmetry is not None
        target = self.ranks[0]
        distance = self.distances(target)
        count = len(symmetry.orbit_size)
        crossings = np.zeros((len(self.nodes), count))
        late = [0] * len(self.nodes)
        hops = [0] * len(self.nodes)
        for node in sorted((n for n in range(len(self.nodes)) if distance[n] > 0), key=distance.__getitem__):
            nexts = self._nexts(node, distance)
            total = float(sum(self.bandwidth[i] for i in nexts))
            for i in nexts:
                part = float(self.bandwidth[i]) / total
                there = self.links[i].dst
                crossings[node] += part * crossings[there]
                crossings[node, symmetry.link_orbit[i]] += part
                late[node] = max(late[node], late[there] + self.latency[i])
                hops[node] = max(hops[node], hops[there] + 1)
        per_member = self.size / symmetry.orbit_size
        routes = {}
        for rank, node in enumerate(self.ranks):
            if distance[node] < 0:
                raise TopologyError(f"{self.topology.name}: the ranks are not all connected")
            shares = crossings[node] * per_member
            used = np.flatnonzero(shares)
            routes[symmetry.offset(rank, 0)] = Route(used, shares[used], late[node], hops[node])
        return routes
