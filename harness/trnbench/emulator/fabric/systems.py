"""From a system and options to the network that a collective runs on.

Ranks are devices, logical cores or cores. Ranks of one device share its memory and its links. Only
NeuronLink and switches carry traffic between devices of one system; on a cluster also the adapters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any

import msgspec

from trnbench.emulator.fabric.constants import IDEAL, Constants, constants_of
from trnbench.emulator.fabric.network import Network
from trnbench.errors import TopologyError, UsageError
from trnbench.facts.scope import Scope
from trnbench.generation import System
from trnbench.topology.graph import Figure, Link, LinkClass, LinkKind, Node, NodeKind, Topology

LEVELS = ("device", "logical-core", "core")
INSIDE = (LinkKind.NEURONLINK, LinkKind.SWITCH, LinkKind.ON_CHIP)
ACROSS = (*INSIDE, LinkKind.EFA, LinkKind.PCIE)
RANK = "rank"
"""Class of the links between a device and the ranks that it holds, where it holds several."""
MOST_EFFORT = 400_000
"""What may be simulated of steps that compete unevenly before they are taken in lockstep: some 0.1 s."""
LARGEST = 4096
"""Ranks of the largest network built node by node; larger clusters go by `cluster`."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """`level` says what a rank is. Empty `neuronlink_direction` and `trn3_links` keep the default.

    `degrade`: (node name, node name, factor) per directed link, 0 for a dead one; `straggler`: (rank,
    factor) slows the memory of the rank's device; `oversubscription`: the cluster network carries this
    many times less than the adapters together. `ideal` leaves all endpoint costs and efficiencies out.
    `exact` simulates flows that compete unevenly however long that takes.
    """

    level: str = "device"
    neuronlink_direction: str = ""
    trn3_links: str = ""
    degrade: tuple[tuple[str, str, float], ...] = ()
    straggler: tuple[tuple[int, float], ...] = ()
    oversubscription: float = 1.0
    ideal: bool = False
    exact: bool = False


DEFAULT = Options()


class Fabric:
    """A system's networks, built once. Options are checked here; messages name the flag to change."""

    def __init__(self, system: System, options: Options = DEFAULT) -> None:
        self.system, self.options = system, options
        self._small: dict[tuple[int, bool], Network] = {}
        self._groups: dict[tuple[int, ...], Network] = {}
        if options.level not in LEVELS:
            raise UsageError(
                f"ranks cannot be {options.level!r}",
                cause=f"they are {', '.join(LEVELS)}",
                try_="--ranks device",
            )
        if options.oversubscription < 1:
            raise UsageError(
                f"an oversubscription of {options.oversubscription:g} makes no sense",
                cause="it says how many times less the network carries than the adapters: 1 or more",
                try_="--oversubscription 2",
            )
        for _, factor in (*((0, f) for *_, f in options.degrade), *options.straggler):
            if factor < 0:
                raise UsageError(
                    f"a factor of {factor:g} makes no sense",
                    cause="0 is a dead link, 1 a whole one, 0.5 half",
                )

    @cached_property
    def constants(self) -> Constants:
        return IDEAL if self.options.ideal else constants_of(self.system.costs)

    @property
    def most_effort(self) -> int:
        """What `solve` may take before it has ranks wait for each other; 0 for any amount."""
        return 0 if self.options.exact else MOST_EFFORT

    @property
    def clustered(self) -> bool:
        """Whether a network joins instances."""
        return self.system.instance.sizable and self.system.size > 1

    @cached_property
    def ranks_per_device(self) -> int:
        level, cores = self.options.level, self.system.cores_per_device
        if level == "device":
            return 1
        each = int(self.system.costs.get("lnc", {}).get("default", 1)) if level == "logical-core" else 1
        return max(cores // each, 1)

    @property
    def size(self) -> int:
        return self.system.devices * self.ranks_per_device

    @cached_property
    def topology(self) -> Topology:
        return self._opened(self._built(self.system))

    def _built(self, system: System) -> Topology:
        given = {
            name: value
            for name, value in (
                ("neuronlink_direction", self.options.neuronlink_direction),
                ("trn3_links", self.options.trn3_links),
            )
            if value and not (name == "trn3_links" and "trn3" not in system.generation.name)
        }
        return system.topology(**given)

    def _opened(self, topology: Topology) -> Topology:
        """With a node per rank where a device holds several."""
        if self.options.level == "device":
            return topology
        nodes, links = list(topology.nodes), list(topology.links)
        for device in topology.devices:
            for c in range(self.ranks_per_device):
                node = Node(len(nodes), f"{device.name}.r{c}", NodeKind.CORE, (*device.coord, c), device.host)
                nodes.append(node)
                links += [Link(node.id, device.id, RANK), Link(device.id, node.id, RANK)]
        classes = {**topology.classes, RANK: self._rank_class()}
        return msgspec.structs.replace(topology, nodes=tuple(nodes), links=tuple(links), classes=classes)

    def _rank_class(self) -> LinkClass:
        """A rank reaches memory and links at the rate of its cores' DMA engines."""
        system = self.system
        dma: Mapping[str, Any] = system.costs.get("dma", {})
        cores = max(system.cores_per_device // self.ranks_per_device, 1)
        rate = float(dma.get("bytes_per_ns_per_engine", 0.0)) * float(dma.get("engines_per_core", 0)) * 1e9
        origin = "[dma] of the cost table"
        if not rate:
            rate = (system.fact(Scope.DEVICE, "dma_bandwidth") or float("inf")) / system.cores_per_device
            origin = "dma_bandwidth"
        latency = system.book.assumptions.get("on-chip-latency")
        return LinkClass(
            name=RANK,
            kind=LinkKind.ON_CHIP,
            bandwidth=Figure(value=rate * cores, origin=origin, formula=f"{cores} cores' DMA engines"),
            latency=Figure(
                value=latency.value / 2 if latency else 0.0,
                origin="on-chip-latency",
                formula="half, twice per message",
                assumed=True,
            ),
        )

    @cached_property
    def network(self) -> Network:
        """All ranks. Raises TopologyError where they are too many to build node by node."""
        if self.size > LARGEST:
            raise TopologyError(
                f"{self.system.name}: {self.size:,} ranks are not built node by node",
                cause=f"up to {LARGEST:,} are",
                try_="an all-reduce, reduce-scatter or all-gather over all of them, or a smaller cluster",
            )
        return self.build(self.topology)

    def network_of(self, group: Sequence[int] | None = None) -> Network:
        """All ranks, or these: built once. Raises what `build` and `network` raise."""
        if group is None:
            return self.network
        key = tuple(group)
        if key not in self._groups:
            # Between nodes a ring is what few ranks run: it keeps messages on the way.
            self._groups[key] = self.build(self.topology, key, pipelined=self.clustered)
        return self._groups[key]

    def build(
        self, topology: Topology, ranks: Sequence[int] | None = None, *, pipelined: bool = False
    ) -> Network:
        """A network of `topology` (all ranks, or these numbers of them) with this system's costs.

        `pipelined`: several messages are on the way over EFA at once, as in a ring.
        """
        constants, options = self.constants, self.options
        each = self.ranks_per_device
        nodes = topology.devices if options.level == "device" else topology.of_kind(NodeKind.CORE)
        wanted = list(range(len(nodes)) if ranks is None else ranks)
        if bad := [rank for rank in wanted if not 0 <= rank < len(nodes)]:
            raise UsageError(f"rank {bad[0]} is not there", cause=f"ranks are 0 to {len(nodes) - 1}")
        devices = {device: i for i, device in enumerate(dict.fromkeys(rank // each for rank in wanted))}
        hbm = self.system.fact(Scope.DEVICE, "hbm_bandwidth")
        memory = hbm * constants.hbm_efficiency if hbm and not options.ideal else float("inf")
        scale = {
            (self._node(topology, a), self._node(topology, b)): factor for a, b, factor in options.degrade
        }
        slow = {devices[r // each]: factor for r, factor in options.straggler if r // each in devices}
        efficiency = {LinkKind.EFA: constants.efa_efficiency / options.oversubscription}
        if len(devices) == 1 and constants.stream and RANK in topology.classes:
            efficiency[LinkKind.ON_CHIP] = min(constants.stream / topology.classes[RANK].bandwidth.value, 1.0)
        return Network(
            topology,
            ranks=[nodes[rank].id for rank in wanted],
            kinds=ACROSS if any(node.host != nodes[0].host for node in nodes) and self.clustered else INSIDE,
            memory=memory,
            shared=[devices[rank // each] for rank in wanted],
            slow=slow,
            efficiency=efficiency,
            quicker={LinkKind.EFA: constants.network_in_flight} if pipelined else None,
            scale=scale,
        )

    def _node(self, topology: Topology, name: str) -> int:
        node = topology.by_name.get(name)
        if node is None:
            raise UsageError(
                f"{self.system.name} has no node {name!r}",
                cause="links are named by the nodes they join",
                try_=f"trnbench topology show {self.system.name}",
            )
        return node.id

    def of_instances(self, count: int, *, pipelined: bool = False) -> Network:
        """The network of `count` instances of this cluster, for what they all do alike."""
        key = count, pipelined
        if key not in self._small:
            small = msgspec.structs.replace(self.system, size=count)
            self._small[key] = self.build(self._opened(self._built(small)), pipelined=pipelined)
        return self._small[key]

    def groups(self, sizes: Mapping[str, int], name: str) -> list[list[int]]:
        """Ranks that belong together along the axis `name` of a grid over all ranks.

        `sizes` are the group sizes of every kind of parallelism, outermost first, as in {"data": 4,
        "tensor": 16}: the last one varies fastest, so a tensor group takes neighbouring ranks.
        """
        if name not in sizes:
            raise UsageError(f"unknown group {name!r}", cause=f"there are {', '.join(sizes)}")
        if prod(sizes.values()) != self.size or min(sizes.values()) < 1:
            shown = " × ".join(f"{n} {k}" for k, n in sizes.items())
            raise UsageError(
                f"{shown} does not divide {self.size} ranks",
                cause=f"the product is {prod(sizes.values())}",
                try_="group sizes whose product is the number of ranks",
            )
        names = list(sizes)
        inner = prod(sizes[each] for each in names[names.index(name) + 1 :])
        span = inner * sizes[name]
        return [
            [outer * span + k * inner + i for k in range(sizes[name])]
            for outer in range(self.size // span)
            for i in range(inner)
        ]
