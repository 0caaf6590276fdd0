"""The links that a collective may use, and how one rank's bytes travel to another's.

A route climbs no higher in the hierarchy of link levels than it must, then takes the fewest links: a
direct link beats a detour however wide.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from msgspec.structs import replace

from trnbench.errors import TopologyError
from trnbench.topology import Link, LinkKind, Node, NodeKind, Topology
from trnbench_emulator import ticks
from trnbench_emulator.fabric.maxmin import Floats
from trnbench_emulator.fabric.routes import Route, Routes
from trnbench_emulator.fabric.schedule import Move
from trnbench_emulator.fabric.symmetry import Symmetry, find_symmetry

RATES, PLANS, STEPS, LOADS = "rates", "plans", "steps", "loads"
ORBITS, ALONE, ORDER = "orbit shares", "moves alone", "order"
"""Of `Network.of_capacity`: the rates of mixes of links, what was found out about plans and steps that are
carried out again and again, how long the busiest link is busy, shares of an orbit, how long moves take alone,
how capacities compare."""
SHARES, CLASSES = "shares", "classes"
"""Of `Network.memo`, for all that is carried out: what messages take of links, which flows are alike."""

_CLIMB = 1 << 12
"""Cost of a link one level up, in links of the level below: more than any route has."""


class Network:
    """A topology's links as resources 0…L−1, and each device's memory as resource L + device.

    `ranks` are node ids of the topology in rank order. `kinds` limits which links may carry traffic.
    `memory` is a device's bandwidth in bytes/s for the accesses that sends and reductions make at
    the ends; infinite leaves them out. `shared` numbers the device of every rank (one each if not
    given): ranks of one device share its memory. `slow` multiplies the memory bandwidth of single
    devices, `late` says how many ticks after the others a rank begins: stragglers. `efficiency` is the
    share of its bandwidth that a kind of link reaches, `documented` the factor of what documents promise
    of it, `quicker` divides its latency where several
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
        documented: dict[LinkKind, float] | None = None,
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
        self.bandwidth: Floats = _rates(topology, kept, scale, efficiency or {})
        self.documented: Floats = (
            _rates(topology, kept, scale, documented or {}) if documented or efficiency else self.bandwidth
        )
        """What documents promise of every link, as `bandwidth` is what it reaches."""
        if len(self.bandwidth) and not (self.bandwidth > 0).all():
            raise TopologyError(
                f"{topology.name}: a link has no bandwidth",
                cause="a bandwidth of zero or below in the facts or in --degrade",
                try_="trnbench topology show " + topology.name,
            )
        self.cost: list[int] = [_CLIMB ** topology.classes[link.cls].level for link in kept]
        sooner = quicker or {}
        of_class = {
            name: ticks(cls.latency.value / sooner.get(cls.kind, 1.0))
            for name, cls in topology.classes.items()
        }
        self.latency: list[int] = [of_class[link.cls] for link in kept]
        self.shared = tuple(range(len(wanted)) if shared is None else shared)
        """The device of every rank, numbered from 0."""
        memories = np.full(max(self.shared, default=-1) + 1, memory)
        for device, factor in (slow or {}).items():
            memories[device] *= factor
        self.capacity: Floats = np.concatenate([self.bandwidth, memories])
        self.late: tuple[int, ...] = tuple((late or {}).get(r, 0) for r in range(len(wanted))) if late else ()
        """Ticks at which every rank begins; empty where all begin at once."""
        self.ways = Routes(
            len(self.nodes), self.links, bandwidth=self.bandwidth, latency=self.latency, cost=self.cost
        )
        self._routes: dict[tuple[int, int], Route] = {}
        self.memo: dict[object, Any] = {}  # what follows from the links alone
        self.of_capacity: dict[object, Any] = {}  # what holds for one capacity of links and memories

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
    def ranks_on(self) -> list[list[int]]:
        """The ranks of every device."""
        ranks: list[list[int]] = [[] for _ in range(max(self.shared) + 1)]
        for rank, device in enumerate(self.shared):
            ranks[device].append(rank)
        return ranks

    @cached_property
    def device_nodes(self) -> list[int]:
        """Position in `nodes` of every device: the rank itself, or what its ranks are joined to, dead links
        counted.
        """
        places = [-1] * (max(self.shared, default=-1) + 1)
        number = {node.id: i for i, node in enumerate(self.nodes)}
        over = {
            number[link.src]: number[link.dst]
            for link in self.topology.links
            if link.src in number
            and link.dst in number
            and self.topology.nodes[link.src].kind is NodeKind.CORE
        }
        for node, device in zip(self.ranks, self.shared, strict=True):
            places[device] = over.get(node, node)
        return places

    @cached_property
    def symmetry(self) -> Symmetry | None:
        """Translations that keep every link's class, bandwidth and latency; None if there are none."""
        memories = self.capacity[len(self.links) :]
        if any(self.late) or (len(memories) and (memories != memories[0]).any()):
            return None  # a straggler makes the ranks unlike
        numbers: dict[tuple[str, float, int], int] = {}
        kinds = [
            numbers.setdefault((link.cls, rate, late), len(numbers))
            for link, rate, late in zip(self.links, self.bandwidth.tolist(), self.latency, strict=True)
        ]
        return find_symmetry(self.nodes, self.links, self.ranks, kinds)

    @property
    def order(self) -> bytes:
        """How the capacities of its links and memories compare, whatever they are."""
        found: bytes | None = self.of_capacity.get(ORDER)
        if found is None:
            places = np.unique(self.capacity, return_inverse=True)[1]
            found = self.of_capacity[ORDER] = places.tobytes()
        return found

    @cached_property
    def with_free_memory(self) -> Network:
        """The same links, accesses at the ends for nothing."""
        other = copy.copy(self)
        other.capacity = self.capacity.copy()
        other.capacity[len(self.links) :] = np.inf
        other.of_capacity = {}
        return other

    def pairs_of(self, move: Move) -> Sequence[tuple[int, int]]:
        """(from, to) of every message. Raises ValueError for a translation where there is none."""
        offset = move.offset
        if offset is None:
            return move.pairs
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
        kept = {self.ranks[rank] for rank in ranks} | {self.device_nodes[self.shared[rank]] for rank in ranks}
        kept |= {at for at, node in enumerate(self.nodes) if node.kind is NodeKind.SWITCH}
        links = tuple(
            Link(self.nodes[link.src].id, self.nodes[link.dst].id, link.cls)
            for link in (self.links[i] for i in sorted(i for node in kept for i in self.ways.leaving[node]))
            if link.dst in kept
        )
        devices = {device: i for i, device in enumerate(dict.fromkeys(self.shared[r] for r in ranks))}
        return Network(
            replace(self.topology, links=links),
            ranks=[self.nodes[self.ranks[rank]].id for rank in ranks],
            shared=[devices[self.shared[rank]] for rank in ranks],
        )

    def route(self, src: int, dst: int) -> Route:
        """Shares of every link for bytes from rank `src` to rank `dst`.

        Raises TopologyError when the two are not connected.
        """
        key = (src, dst)
        route = self._routes.get(key)
        if route is None:
            start, target = self.ranks[src], self.ranks[dst]
            route = self.ways.between(start, target)
            if route is None:
                names = self.nodes[start].name, self.nodes[target].name
                raise TopologyError(
                    f"{self.topology.name}: no route from {names[0]} to {names[1]}",
                    cause="the links left after --degrade or the chosen link kinds do not connect them",
                    try_="trnbench topology check " + self.topology.name,
                )
            self._routes[key] = route
        return route


def _rates(
    topology: Topology,
    links: Sequence[Link],
    scale: dict[tuple[int, int], float],
    share: dict[LinkKind, float],
) -> Floats:
    """Bytes/s of every link: its bandwidth, `scale` of the link and `share` of its kind."""
    of_class = {
        name: (cls.bandwidth.value, share.get(cls.kind, 1.0)) for name, cls in topology.classes.items()
    }
    whole = {name: rate * part for name, (rate, part) in of_class.items()}
    rates = [whole[link.cls] for link in links]
    if scale:
        for number, link in enumerate(links):
            if (link.src, link.dst) in scale:
                rate, part = of_class[link.cls]
                rates[number] = rate * (scale[link.src, link.dst] * part)
    return np.array(rates, dtype=float)
