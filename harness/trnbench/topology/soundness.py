"""Is a topology whole? Both directions of every cable, one graph, every device alike."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from trnbench.topology.graph import Link, LinkKind, Node, NodeKind, Topology
from trnbench.topology.routing import Router

DEVICE_LINKS = (LinkKind.NEURONLINK, LinkKind.SWITCH)


def one_way_links(topology: Topology) -> list[Link]:
    """Links whose opposite direction, of the same class, is missing."""
    src, dst, classes = _ends(topology.links)
    present = set(zip(src, dst, classes, strict=True))
    if present.issuperset(zip(dst, src, classes, strict=True)):
        return []
    return [link for link in topology.links if (link.dst, link.src, link.cls) not in present]


def components(topology: Topology) -> list[list[Node]]:
    """The parts that no link joins, hosts and adapters included; one where the graph is connected."""
    around: list[list[int]] = [[] for _ in topology.nodes]
    for link in topology.links:
        around[link.src].append(link.dst)
        around[link.dst].append(link.src)
    seen = [False] * len(topology.nodes)
    parts = []
    for start in topology.nodes:
        if seen[start.id]:
            continue
        seen[start.id] = True
        part = [start.id]
        for node in part:
            for other in around[node]:
                if not seen[other]:
                    seen[other] = True
                    part.append(other)
        parts.append([topology.nodes[node] for node in part])
    return parts


def unrouted(topology: Topology, router: Router) -> list[Node]:
    """Devices that no route joins with the first one: a way through a host is no route."""
    devices = topology.devices
    home = router.island_of[devices[0].id]
    others = [device for device in devices if router.island_of[device.id] != home]
    if not others:
        return []
    exits = {
        island: {
            network
            for node in router.islands[island]
            for link in topology.out[node]
            if topology.nodes[link.dst].kind == NodeKind.ADAPTER
            for network in _beyond(topology, link.dst)
        }
        for island in {router.island_of[device.id] for device in devices}
    }
    at_home = exits[home]
    return [device for device in others if not exits[router.island_of[device.id]] & at_home]


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
    sides = [max(coord[axis] for coord in coords) + 1 for axis in range(axes)]
    if prod(sides) != len(coords):
        return False
    device_at = {device.coord: device.id for device in devices}
    wired = {name for name, each in topology.classes.items() if each.kind in DEVICE_LINKS}
    src, dst, classes = _ends([link for link in topology.links if link.cls in wired])
    links = set(zip(src, dst, classes, strict=True))
    around: dict[int, set[int]] = {}
    for node, member in zip(src, dst, strict=True):
        if topology.nodes[node].kind == NodeKind.SWITCH:
            around.setdefault(node, set()).add(member)
    switch_at = {frozenset(members): switch for switch, members in around.items()}
    for axis, side in enumerate(sides):
        if side < 2:
            continue
        image = [-1] * len(topology.nodes)
        for device, c in zip(devices, coords, strict=True):
            image[device.id] = device_at[(*c[:axis], (c[axis] + 1) % side, *c[axis + 1 :])]
        for switch, members in around.items():
            target = switch_at.get(frozenset(image[member] for member in members))
            if target is None:
                return False
            image[switch] = target
        moved = map(image.__getitem__, src), map(image.__getitem__, dst)
        if not links.issuperset(zip(*moved, classes, strict=True)):
            return False
    return True


def _ends(links: Sequence[Link]) -> tuple[list[int], list[int], list[str]]:
    """Where each begins and ends, and its class: lists that are looked through faster than links."""
    return [link.src for link in links], [link.dst for link in links], [link.cls for link in links]
