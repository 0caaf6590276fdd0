"""A system's links as levels: who exchanges with how many at what rate and latency, level by level.

The closed forms need no graph: only, for each class of links, how many groups it joins, what a
device can send over it, and how far apart its members are. That much is read off the topology of
one instance; a cluster adds one level for its network, whatever its size.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import msgspec

from trnbench.errors import TopologyError
from trnbench.generation import System
from trnbench.topology.graph import Link, LinkKind, NodeKind, Topology


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """`size` groups are joined. `rate`: bytes/s a rank can send over all its links of this level,
    `link_rate` over one of them. `latency_s`: one message between neighbours; `steps` of them
    are the longest way. `hops`: average number of a sender's own links that a message to another group
    crosses. `wired`: neighbours are cabled to each other, so far messages pass others; otherwise a
    switch or network joins all.
    """

    name: str
    size: int
    rate: float
    link_rate: float
    latency_s: float
    steps: int = 1
    hops: float = 1.0
    wired: bool = False
    ring: int = 0  # steps of the shortest bucket algorithm one way round: Σ (side − 1)
    assumed: tuple[str, ...] = ()


class Fabric(msgspec.Struct, frozen=True, kw_only=True):
    """Levels of one system in every order that joins all ranks, inner first.

    `topology` is the graph they were read off: of a cluster, that of one instance.
    """

    ranks: int
    orders: tuple[tuple[Level, ...], ...]
    topology: Topology


def fabric_of(system: System) -> Fabric:
    """Raises `TopologyError` where devices are not connected."""
    if system.instance.sizable:
        one = msgspec.structs.replace(system, size=1).topology()
        inner = _fabric(one)
        if system.size == 1:
            return inner
        network = _network(one, system.size)
        return Fabric(
            ranks=inner.ranks * system.size,
            orders=tuple((*order, network) for order in inner.orders),
            topology=one,
        )
    return _fabric(system.topology())


def _fabric(topology: Topology) -> Fabric:
    count = len(topology.devices)
    cables = _device_classes(topology)
    joined = _groups(topology, cables)
    if count > 1 and len(joined) != 1:
        raise TopologyError(
            f"{topology.name}: its devices are not connected by NeuronLink",
            cause=f"they fall into {len(joined)} parts",
            try_=f"trnbench topology check {topology.name}",
        )
    orders = []
    for order in _permutations(cables):
        levels: list[Level] = []
        together: list[str] = []
        before = count
        for name in order:
            together.append(name)
            after = len(_groups(topology, together))
            if after < before:
                levels.append(_level(topology, name, before // after))
            before = after
        if levels and tuple(levels) not in orders:
            orders.append(tuple(levels))
    return Fabric(ranks=count, orders=tuple(orders) or ((),), topology=topology)


def _permutations(names: Sequence[str]) -> Iterable[tuple[str, ...]]:
    from itertools import permutations

    return permutations(names)


def _device_classes(topology: Topology) -> tuple[str, ...]:
    """Classes of links between devices and to switches, in the order of their first link."""
    wanted = (LinkKind.NEURONLINK, LinkKind.SWITCH)
    seen: dict[str, None] = {}
    for link in topology.links:
        if topology.classes[link.cls].kind in wanted:
            seen.setdefault(link.cls)
    return tuple(seen)


def _groups(topology: Topology, classes: Sequence[str]) -> list[list[int]]:
    """Devices that the links of `classes` connect."""
    parent = list(range(len(topology.nodes)))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    wanted = set(classes)
    for link in topology.links:
        if link.cls in wanted:
            one, other = root(link.src), root(link.dst)
            if one != other:
                parent[max(one, other)] = min(one, other)
    found: dict[int, list[int]] = {}
    for device in topology.devices:
        found.setdefault(root(device.id), []).append(device.id)
    return list(found.values())


def _level(topology: Topology, name: str, size: int) -> Level:
    cls = topology.classes[name]
    own = [[link for link in topology.out[device.id] if link.cls == name] for device in topology.devices]
    rate = min(sum(topology.bandwidth(link) for link in links) for links in own if links)
    wired = any(topology.nodes[link.dst].kind == NodeKind.DEVICE for links in own for link in links)
    latency = cls.latency.value if wired else 2 * cls.latency.value  # to the switch and from it
    steps, hops, ring = 1, 1.0, size - 1
    if wired and size > 1:
        group = next(each for each in _groups(topology, [name]) if len(each) > 1)
        steps, hops = _distances(topology, name, group)
        ring = _ring_steps(topology, group)
    return Level(
        name=name,
        size=size,
        rate=rate,
        link_rate=cls.bandwidth.value,
        latency_s=latency,
        steps=steps,
        hops=hops,
        wired=wired,
        ring=ring,
        assumed=tuple(figure.origin for figure in (cls.bandwidth, cls.latency) if figure.assumed),
    )


def _distances(topology: Topology, name: str, group: Sequence[int]) -> tuple[int, float]:
    """(longest, average) distance to another member, counted in links of this class; an average over
    all members, scaled up where the middle of a line carries more than the average link."""
    total, longest = 0, 0
    for start in group:
        distance = {start: 0}
        queue = deque([start])
        while queue:
            node = queue.popleft()
            for link in topology.out[node]:
                if link.cls == name and link.dst not in distance:
                    distance[link.dst] = distance[node] + 1
                    queue.append(link.dst)
        reached = [distance[each] for each in group]
        total += sum(reached)
        longest = max(longest, max(reached))
    return longest, total / (len(group) * (len(group) - 1))


def _ring_steps(topology: Topology, group: Sequence[int]) -> int:
    """Steps of the bucket algorithm on the lattice the members form: Σ (side − 1)."""
    coords = [topology.nodes[each].coord for each in group]
    if not all(coords) or len({len(each) for each in coords}) != 1:
        return len(group) - 1
    sides = [len({each[axis] for each in coords}) for axis in range(len(coords[0]))]
    return sum(side - 1 for side in sides)


def _network(topology: Topology, instances: int) -> Level:
    """The non-blocking network: each device has its share of its server's adapters."""
    adapters = topology.of_kind(NodeKind.ADAPTER)
    up = [link for node in adapters for link in topology.out[node.id] if _is_efa(topology, link)]
    if not up:
        raise TopologyError(
            f"{topology.name}: a cluster needs network adapters, one instance has none",
            cause="the topology builder adds none at size 1",
            try_="add adapters and a network to the topology",
        )
    devices = len(topology.devices)
    to_adapter = [
        topology.latency(link)
        for device in topology.devices
        for link in topology.out[device.id]
        if topology.nodes[link.dst].kind == NodeKind.ADAPTER
    ]
    cls = topology.classes[up[0].cls]
    return Level(
        name=up[0].cls,
        size=instances,
        rate=sum(topology.bandwidth(link) for link in up) / devices,
        link_rate=topology.bandwidth(up[0]),
        latency_s=2 * (max(to_adapter) + topology.latency(up[0])),
        ring=instances - 1,
        assumed=tuple(figure.origin for figure in (cls.bandwidth, cls.latency) if figure.assumed),
    )


def _is_efa(topology: Topology, link: Link) -> bool:
    return topology.classes[link.cls].kind is LinkKind.EFA
