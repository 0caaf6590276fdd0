"""Is a topology whole? Both directions of every cable, one graph, every device alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from operator import add

from trnbench.topology.graph import Link, LinkKind, Node, NodeKind, Topology
from trnbench.topology.routing import Router

DEVICE_LINKS = (LinkKind.NEURONLINK, LinkKind.SWITCH)


def one_way_links(topology: Topology) -> list[Link]:
    """Links whose opposite direction, of the same class, is missing."""
    if all(
        _cables(src, dst) or _numbers(topology, src, dst) >= _numbers(topology, dst, src)
        for src, dst in topology.ends.values()
    ):
        return []
    present = {(link.src, link.dst, link.cls) for link in topology.links}
    return [link for link in topology.links if (link.dst, link.src, link.cls) not in present]


def components(topology: Topology) -> list[list[Node]]:
    """The parts that no link joins, hosts and adapters included; one where the graph is connected."""
    around: list[list[int]] = [[] for _ in topology.nodes]
    for src, dst in topology.ends.values():
        for src_node, dst_node in zip(src, dst, strict=True):
            around[src_node].append(dst_node)
            around[dst_node].append(src_node)
    return [[topology.nodes[node] for node in sorted(part)] for part in parts_of(around)]


def parts_of(around: Sequence[Iterable[int]]) -> list[set[int]]:
    """Nodes that reach each other by the neighbours of each, in the order of the first of them."""
    seen: set[int] = set()
    parts = []
    for start in range(len(around)):
        if start in seen:
            continue
        part, reached = {start}, {start}
        while reached:
            reached = set().union(*map(around.__getitem__, reached)) - part
            part |= reached
        seen |= part
        parts.append(part)
    return parts


def unrouted(topology: Topology, router: Router) -> list[Node]:
    """Devices that no route joins with the first one: a way through a host is no route."""
    devices, island_of = topology.devices, router.island_of
    home = island_of[devices[0].id]
    others = [device for device in devices if island_of[device.id] != home]
    if not others:
        return []
    networks = {adapter.id: _beyond(topology, adapter.id) for adapter in topology.of_kind(NodeKind.ADAPTER)}
    exits = {
        (island_of[node], network)
        for src, dst in topology.ends.values()
        if not networks.keys().isdisjoint(dst)
        for node, adapter in zip(src, dst, strict=True)
        if adapter in networks
        for network in networks[adapter]
    }
    at_home = {network for island, network in exits if island == home}
    reached = {island for island, network in exits if network in at_home}
    return [device for device in others if island_of[device.id] not in reached]


def _beyond(topology: Topology, adapter: int) -> list[int]:
    return [link.dst for link in topology.out[adapter] if topology.nodes[link.dst].kind == NodeKind.NETWORK]


def is_transitive(topology: Topology) -> bool:
    """Can every device be moved onto every other without changing the NeuronLink graph?

    Shown by the shifts along each coordinate, checked link by link; a graph whose symmetry has
    another form is not recognised.
    """
    devices = topology.devices
    coords = [device.coord for device in devices]
    axes = len(coords[0])
    if any(len(coord) != axes for coord in coords) or len(set(coords)) != len(coords):
        return False
    columns = list(zip(*coords, strict=True))
    sides = [max(column) + 1 for column in columns]
    if prod(sides) != len(coords) or any(min(column) < 0 for column in columns):
        return False
    places = sorted(range(len(coords)), key=coords.__getitem__)  # a box, so that these are row by row
    classes = (
        topology.ends[name]
        for name, link_class in topology.classes.items()
        if link_class.kind in DEVICE_LINKS
    )
    wired = [(src, dst, _ports(src, places)) for src, dst in classes if src]
    around: dict[int, set[int]] = {}
    switches = {node.id for node in topology.of_kind(NodeKind.SWITCH)}
    for src, dst, _ in wired if switches else ():
        for node, member in zip(src, dst, strict=True):
            if node in switches:
                around.setdefault(node, set()).add(member)
    switch_at = {frozenset(members): switch for switch, members in around.items()}
    for axis, side in enumerate(sides):
        if side < 2:
            continue
        image = [len(topology.nodes)] * len(topology.nodes)
        for device, shifted in zip(places, _shifted(places, sides[axis:]), strict=True):
            image[device] = shifted
        for switch, members in around.items():
            target = switch_at.get(frozenset(image[member] for member in members))
            if target is None:
                return False
            image[switch] = target
        for src, dst, ports in wired:
            moved = list(map(image.__getitem__, dst))
            if ports and moved == _shifted(dst, (*sides[axis:], ports)):
                continue
            if not _numbers(topology, src, dst) >= _numbers(topology, map(image.__getitem__, src), moved):
                return False
    return True


def _ports(src: Sequence[int], places: Sequence[int]) -> int:
    """How many links leave each device, where the devices follow each other with equally many; else 0."""
    ports = len(src) // len(places)
    return ports if src == [device for device in places for _ in range(ports)] else 0


def _shifted(places: Sequence[int], sides: Sequence[int]) -> list[int]:
    """What stands one step further along the first of `sides`, round its end; in `places` boxes of these
    sides follow each other, each row by row."""
    box, row = prod(sides), prod(sides[1:])
    shifted: list[int] = []
    for start in range(0, len(places), box):
        shifted += places[start + row : start + box]
        shifted += places[start : start + row]
    return shifted


def _cables(src: Sequence[int], dst: Sequence[int]) -> bool:
    """Whether the two directions of every cable follow each other, as `Assembly.join` adds them."""
    return src[::2] == dst[1::2] and src[1::2] == dst[::2]


def _numbers(topology: Topology, src: Iterable[int], dst: Iterable[int]) -> set[int]:
    """A whole number for each pair of nodes; a node beyond the last stands for none, and is in no link's."""
    return set(map(add, map((len(topology.nodes) + 1).__mul__, src), dst))
