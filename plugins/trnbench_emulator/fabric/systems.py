"""From a system and options to the network that a collective runs on.

Ranks are devices, logical cores or cores. Ranks of one device share its memory and its links. Only
NeuronLink and switches carry traffic between devices of one system; on a cluster also the adapters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from trnbench.errors import TopologyError, UsageError, counted
from trnbench.facts.fact import Scope
from trnbench.generation import System
from trnbench.record import Record
from trnbench.topology import Figure, Link, LinkClass, LinkKind, Node, NodeKind, Topology
from trnbench_emulator import ticks
from trnbench_emulator.fabric.constants import IDEAL, Constants, constants_of
from trnbench_emulator.fabric.groups import check_ranks, groups_along
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.question import DEFAULT, Question
from trnbench_emulator.fabric.question import Options as Options

RANK = "rank"
"""Class of the links between a device and the ranks that it holds."""


def with_endpoints(topology: Topology, system: System, ranks_per_device: int) -> Topology:
    """`topology` of devices with a node per rank, device by device."""
    nodes, links = list(topology.nodes), list(topology.links)
    for device in topology.devices:
        for c in range(ranks_per_device):
            node = Node(len(nodes), f"{device.name}.r{c}", NodeKind.CORE, (*device.coord, c), device.host)
            nodes.append(node)
            links += [Link(node.id, device.id, RANK), Link(device.id, node.id, RANK)]
    classes = {**topology.classes, RANK: _rank_class(system, ranks_per_device)}
    return replace(topology, nodes=tuple(nodes), links=tuple(links), classes=classes)


def _core_rate(system: System) -> tuple[float, str]:
    """Bytes/s of one core's DMA engines, and what says so; 0 where nothing does."""
    dma: Mapping[str, Any] = system.costs.get("dma", {})
    rate = float(dma.get("bytes_per_ns_per_engine", 0.0)) * float(dma.get("engines_per_core", 0)) * 1e9
    if rate:
        return rate, "[dma] of the cost table"
    return (system.fact(Scope.DEVICE, "dma_bandwidth") or 0.0) / system.cores_per_device, "dma_bandwidth"


def _rank_class(system: System, ranks_per_device: int) -> LinkClass:
    """A rank reaches memory and links at the rate of its cores' DMA engines.

    Raises UsageError where nothing says how fast they are.
    """
    cores = max(system.cores_per_device // ranks_per_device, 1)
    rate, origin = _core_rate(system)
    if not rate:
        raise UsageError(
            f"no document says how fast a core of {system.name} reaches its device",
            cause=f"{system.generation.name} has no [dma] costs and no dma_bandwidth",
            try_="--ranks device, on a system of several devices",
        )
    engines = f"DMA engines of {counted(cores, 'core')}"
    latency = system.book.assumptions.get("on-chip-latency")
    return LinkClass(
        name=RANK,
        kind=LinkKind.ON_CHIP,
        bandwidth=Figure(value=rate * cores, origin=origin, formula=engines),
        latency=Figure(
            value=latency.value / 2 if latency else 0.0,
            origin="on-chip-latency",
            formula="half, twice per message",
            assumed=True,
        ),
    )


class Irregular(Record, kw_only=True):
    """`scale`: factor by (from, to), node ids of a topology; 0 is a dead link. By rank: `slow`, the share of
    its device's memory bandwidth that is left; `late`, ticks that it begins after the others.
    """

    scale: dict[tuple[int, int], float] = {}
    slow: dict[int, float] = {}
    late: dict[int, int] = {}

    def __bool__(self) -> bool:
        return bool(self.scale or self.slow or self.late)

    def instances(self, whole: Topology, ranks_each: int) -> tuple[int, ...]:
        """Numbers of the instances that are unlike the rest, `ranks_each` ranks in every one."""
        touched = {_host(whole, *link) for link in self.scale}
        touched |= {rank // ranks_each for rank in (*self.slow, *self.late)}
        return tuple(sorted(touched))

    def onto(self, whole: Topology, part: Topology, standing: Sequence[int], ranks_each: int) -> Irregular:
        """The same on a smaller cluster, whose instance `standing.index(i)` stands for instance i; negative
        numbers stand for nobody in particular."""
        place = {number: i for i, number in enumerate(standing) if number >= 0}
        there = {host: _nodes(part, host) for host in place.values()}
        here = {number: {node: i for i, node in enumerate(_nodes(whole, number))} for number in place}
        network = [node.id for node in part.of_kind(NodeKind.NETWORK)]

        def node(number: int, of: int) -> int:
            at = here[number].get(of)
            return network[0] if at is None else there[place[number]][at]

        def rank(of: int) -> int:
            return place[of // ranks_each] * ranks_each + of % ranks_each

        scale = {}
        for (a, b), factor in self.scale.items():
            number = _host(whole, a, b)
            scale[node(number, a), node(number, b)] = factor
        return Irregular(
            scale=scale,
            slow={rank(each): factor for each, factor in self.slow.items()},
            late={rank(each): ticks for each, ticks in self.late.items()},
        )


def slow_links(topology: Topology, degrade: Iterable[tuple[str, str, float]]) -> dict[tuple[int, int], float]:
    """`Irregular.scale` of links given as (from, to, factor) by the names of their ends. Raises UsageError
    for a node or a link that is not there.
    """
    scale = {}
    for a, b, factor in degrade:
        ends = _named(topology, a), _named(topology, b)
        if not any(link.dst == ends[1] for link in topology.out[ends[0]]):
            raise _unknown(topology, f"link {a} > {b}")
        scale[ends] = factor
    return scale


def _named(topology: Topology, name: str) -> int:
    node = topology.by_name.get(name)
    if node is None:
        raise _unknown(topology, f"node {name!r}")
    return node.id


def _unknown(topology: Topology, what: str) -> UsageError:
    return UsageError(
        f"{topology.name} has no {what}",
        cause="links are named by the nodes they join",
        try_=f"trnbench topology show {topology.name}",
    )


def _nodes(topology: Topology, host: int) -> list[int]:
    return [each.id for each in topology.nodes if each.host == host and each.kind is not NodeKind.NETWORK]


def _host(topology: Topology, a: int, b: int) -> int:
    """The instance that a link belongs to; the network between them belongs to none."""
    ends = [topology.nodes[each] for each in (a, b)]
    return next(end.host for end in ends if end.kind is not NodeKind.NETWORK)


INSIDE = (LinkKind.NEURONLINK, LinkKind.SWITCH, LinkKind.ON_CHIP)
ACROSS = (*INSIDE, LinkKind.EFA, LinkKind.PCIE)
MOST_EFFORT = 400_000
"""What may be simulated of steps that compete unevenly before they are taken in lockstep: some 0.1 s."""
WHOLE = 256
"""Ranks up to which a cluster whose instances are not alike is simulated as it is: some seconds."""
LARGEST = 4096
"""Ranks of the largest network built node by node; larger clusters go by `cluster`."""


class Fabric:
    """A system's networks, built once. Options are checked here; messages name the flag to change."""

    def __init__(self, system: System, options: Options = DEFAULT) -> None:
        options.check()
        if options.level != "device" and system.cores_per_device == 1 and not _core_rate(system)[0]:
            # The only core is the device: it needs no link that no document tells of.
            options = replace(options, level="device")
        self.system = system
        if not self.clustered:  # there is no network to carry less
            options = replace(options, oversubscription=1.0)
        self.options = options
        self._small: dict[bool, Network] = {}
        self._groups: dict[tuple[int, ...], Network] = {}
        self.answers: dict[tuple[object, ...], Any] = {}
        """The latest, by `Question.key`: what `ask` keeps."""
        check_ranks((rank for rank, _ in (*options.straggler, *options.late)), self.size)

    def question(self, collective: str, size: float, **more: Any) -> Question:
        """To `ask` of these links; `more` are the other fields of `Question`."""
        options = {name: getattr(self.options, name) for name in Options.__struct_fields__}
        return Question(collective=collective, size=size, system=self.system, **options, **more)

    @cached_property
    def constants(self) -> Constants:
        return IDEAL if self.options.ideal else constants_of(self.system.costs, self.options.context)

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
        return max(cores // self.system.default_lnc, 1) if level == "logical-core" else cores

    @property
    def size(self) -> int:
        return self.system.devices * self.ranks_per_device

    @cached_property
    def topology(self) -> Topology:
        return self._with_ranks(self._built(self.system))

    def _built(self, system: System) -> Topology:
        given = {
            name: value
            for name, value in (
                ("neuronlink_direction", self.options.neuronlink_direction),
                ("trn3_links", self.options.trn3_links),
            )
            if value and system.takes(name)
        }
        return system.topology(**given)

    def _with_ranks(self, topology: Topology) -> Topology:
        if self.options.level == "device":
            return topology
        return with_endpoints(topology, self.system, self.ranks_per_device)

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

    @cached_property
    def network_inside(self) -> Network:
        """All ranks, where no bytes leave a device. Raises what `network` raises."""
        return self.build(self.topology, range(self.network.size), inside=True)

    def network_of(self, group: Sequence[int] | None = None) -> Network:
        """All ranks, or these: built once. Raises what `build` and `network` raise."""
        if group is None:
            return self.network
        key = tuple(group)
        if key not in self._groups:
            # Between nodes a ring is what few ranks run: it keeps messages on the way.
            self._groups[key] = self.build(self.topology, key, pipelined=self.clustered)
        return self._groups[key]

    @cached_property
    def irregular(self) -> Irregular:
        """Links and ranks unlike the rest, on the whole topology. Raises UsageError for an unknown link."""
        options = self.options
        if not (options.degraded or options.straggler or options.late):
            return Irregular()
        late = {rank: ticks(seconds) for rank, seconds in options.late}
        return Irregular(
            scale=slow_links(self.topology, options.degraded), slow=dict(options.straggler), late=late
        )

    def build(
        self,
        topology: Topology,
        ranks: Sequence[int] | None = None,
        *,
        pipelined: bool = False,
        inside: bool = False,
        irregular: Irregular | None = None,
    ) -> Network:
        """A network of `topology` (all ranks, or these numbers of them) with this system's costs.

        `pipelined`: several messages are on the way over EFA at once, as in a ring. `inside`: ranks send to
        others of their device alone, as those of one device do. `irregular`: what differs on this topology,
        where it is not the whole one.
        """
        irregular = self.irregular if irregular is None else irregular
        constants, options = self.constants, self.options
        per_device = self.ranks_per_device
        nodes = topology.devices if options.level == "device" else topology.of_kind(NodeKind.CORE)
        wanted = list(range(len(nodes)) if ranks is None else ranks)
        check_ranks(wanted, len(nodes))
        devices = {device: i for i, device in enumerate(dict.fromkeys(rank // per_device for rank in wanted))}
        hbm = self.system.fact(Scope.DEVICE, "hbm_bandwidth")
        memory = hbm * constants.hbm_efficiency if hbm and not options.ideal else float("inf")
        slow: dict[int, float] = {}
        for rank, share in irregular.slow.items():
            if (device := devices.get(rank // per_device)) is not None:
                slow[device] = min(slow.get(device, 1.0), share)
        late = {i: irregular.late[rank] for i, rank in enumerate(wanted) if rank in irregular.late}
        efficiency = {LinkKind.EFA: constants.efa_efficiency / options.oversubscription}
        if (inside or len(devices) == 1) and constants.stream and RANK in topology.classes:
            efficiency[LinkKind.ON_CHIP] = min(constants.stream / topology.classes[RANK].bandwidth.value, 1.0)
        return Network(
            topology,
            ranks=[nodes[rank].id for rank in wanted],
            kinds=ACROSS if any(node.host != nodes[0].host for node in nodes) and self.clustered else INSIDE,
            memory=memory,
            shared=[devices[rank // per_device] for rank in wanted],
            slow=slow,
            efficiency=efficiency,
            documented={LinkKind.EFA: 1.0 / options.oversubscription},
            quicker={LinkKind.EFA: constants.network_in_flight} if pipelined else None,
            scale=irregular.scale,
            late=late,
        )

    @cached_property
    def figures(self) -> list[Figure]:
        """Of the links that carry traffic, in the order of the topology."""
        topology = self._smaller(2) if self.clustered else self.topology
        kinds = ACROSS if self.clustered else INSIDE
        used = [cls for cls in topology.classes.values() if cls.kind in kinds]
        return [figure for cls in used for figure in (cls.bandwidth, cls.latency)]

    def of_size(self, count: int) -> Fabric:
        """A cluster of so many instances, with the networks that instances alike have been built into."""
        other = Fabric(replace(self.system, size=count), self.options)
        if not self.irregular:
            other._small = self._small
        return other

    def standing(self, *, pipelined: bool = False) -> Network:
        """The network of the instances that stand for the whole cluster: two where all are alike; all there
        are where some are not and they are few; each that is unlike the others with one of the others
        beside it where they are many.

        Raises TopologyError where more are unlike than can be built node by node.
        """
        if pipelined not in self._small:
            unlike, irregular = self.unlike, Irregular()
            count, ranks_each = 2 * len(unlike) or 2, self.size // self.system.size
            if count * ranks_each > LARGEST:
                raise TopologyError(
                    f"{self.system.name}: {len(unlike):,} instances unlike the others are too many",
                    cause=f"{LARGEST:,} ranks are built node by node",
                    try_="fewer --degrade, or a smaller cluster",
                )
            # The other one of each pair has a number that nothing is said of.
            numbers = [number for i in unlike for number in (i, -1 - i)]
            if unlike and (self.size <= WHOLE or count > self.system.size):
                count = self.system.size
                numbers = list(range(count))
            part = self._smaller(count)
            if unlike:
                irregular = self.irregular.onto(self.topology, part, numbers, ranks_each)
            self._small[pipelined] = self.build(part, pipelined=pipelined, irregular=irregular)
        return self._small[pipelined]

    @cached_property
    def unlike(self) -> tuple[int, ...]:
        """Numbers of the instances of a cluster that are unlike the others."""
        if not self.irregular:
            return ()
        return self.irregular.instances(self.topology, self.size // self.system.size)

    def _smaller(self, count: int) -> Topology:
        return self._with_ranks(self._built(replace(self.system, size=count)))

    def groups(self, sizes: Mapping[str, int], name: str) -> list[list[int]]:
        """Ranks that belong together along one axis of a grid over all ranks: `groups.groups_along`."""
        return groups_along(sizes, name, self.size)


_BUILT: dict[tuple[object, ...], Fabric] = {}
KEPT = 32
"""Fabrics kept in a process: those of a default run, and of a cluster of several sizes."""


def fabric_of(system: System, options: Options = DEFAULT) -> Fabric:
    """Built once for the same instance, facts and costs: the same object while it is among the latest.

    Raises UsageError for options that make no sense.
    """
    # What is kept keeps its system, so that no other object can have the same identity meanwhile.
    kind = (id(system.instance), id(system.generation), id(system.book), id(system.costs), options)
    fabric = _BUILT.pop((*kind, system.size), None)
    if fabric is None:
        near = next((each for key, each in _BUILT.items() if key[:-1] == kind and each.clustered), None)
        fabric = Fabric(system, options) if near is None else near.of_size(system.size)
    while len(_BUILT) >= KEPT:
        _BUILT.pop(next(iter(_BUILT)))
    _BUILT[*kind, system.size] = fabric  # the latest is the last
    return fabric
