"""What can be said of a topology: counts, degree, distances, bisection, cycles, symmetry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from trnbench.record import Record, grouped
from trnbench.topology.bisection import Bisection, bisection
from trnbench.topology.cycles import Cycle, hamiltonian_cycles
from trnbench.topology.graph import Figure, NodeKind, Topology, shape_words, torus_sides
from trnbench.topology.isomorphism import hypercube_mapping
from trnbench.topology.routing import Router
from trnbench.topology.soundness import DEVICE_LINKS, components, is_transitive, one_way_links, unrouted

ALL_PAIRS_UP_TO = 512
"""Devices of one island below which every pair is looked at; above it, a closed form or a sample."""

SAMPLE = 32


class Distances(Record, kw_only=True):
    """`diameter` is the longest minimal route, `average` that of all pairs of two devices.

    Both count links, so a passage through a switch is two. `exact` is false for a sample.
    """

    diameter: int
    average: float
    method: str
    exact: bool = True


def distances(topology: Topology, router: Router | None = None) -> Distances:
    """Distances between all devices. Raises `TopologyError` when two are not connected."""
    router = router or Router(topology)
    count = len(topology.devices)
    if count < 2:
        return Distances(diameter=0, average=0.0, method="a single device")
    groups = _device_groups(topology, router)
    if len(groups) == 1:
        return _of_island(topology, router, groups[0])
    return _of_islands(topology, router, groups)


def _device_groups(topology: Topology, router: Router) -> list[list[int]]:
    ids = (device.id for device in topology.devices)
    return list(grouped(ids, router.island_of.__getitem__).values())


def _of_island(topology: Topology, router: Router, members: list[int]) -> Distances:
    count = len(members)
    sides = torus_sides(topology)
    if sides is not None:
        # On a ring of k the distances from one node add up to ⌊k²/4⌋, and every node is alike.
        total = sum(side * side // 4 / side for side in sides) * count
        return Distances(
            diameter=sum(side // 2 for side in sides),
            average=total / (count - 1),
            method="closed form of the torus: ⌊k/2⌋ and ⌊k²/4⌋/k along each side k",
        )
    sources = members if count <= ALL_PAIRS_UP_TO else members[:: count // SAMPLE]
    longest, total = _reach(router, sources, members)
    exact = len(sources) == count
    return Distances(
        diameter=longest,
        average=total / (len(sources) * (count - 1)),
        method="every pair of devices" if exact else f"from {len(sources)} of {count} devices",
        exact=exact,
    )


def _reach(router: Router, sources: Iterable[int], members: list[int]) -> tuple[int, int]:
    longest = total = 0
    for src in sources:
        for dst in members:
            if src != dst:
                hops = router.distance(src, dst)
                longest, total = max(longest, hops), total + hops
    return longest, total


def _of_islands(topology: Topology, router: Router, groups: list[list[int]]) -> Distances:
    """Islands joined by a network: a route between two is the way out of one plus that out of the other.

    Islands wired alike are looked at once.
    """
    by_wiring: dict[tuple[object, ...], tuple[int, int, list[int]]] = {}
    count = len(topology.devices)
    inside = total = 0
    farthest = [0, 0]
    for group in groups:
        pattern = wiring(topology, group)
        if pattern not in by_wiring:
            by_wiring[pattern] = (*_reach(router, group, group), [router.way_out(device) for device in group])
        longest, inner, ways = by_wiring[pattern]
        inside = max(inside, longest)
        total += inner + 2 * sum(ways) * (count - len(group))
        farthest = sorted([*farthest, max(ways)])[-2:]
    kinds = "one kind of island" if len(by_wiring) == 1 else f"{len(by_wiring)} kinds of island"
    return Distances(
        diameter=max(inside, sum(farthest)),
        average=total / (count * (count - 1)),
        method=f"{kinds}, every pair inside, and the way out to the network",
    )


def wiring(topology: Topology, members: list[int]) -> tuple[object, ...]:
    """How `members` are joined to each other and to what is around them, in relative numbers.

    Two groups with equal wiring are copies of each other.
    """
    nodes, out = topology.nodes, topology.out
    links = [link for node in members for link in out[node]]
    local = {node: i for i, node in enumerate(members)}
    for link in links:
        if link.dst not in local:
            local[link.dst] = len(local)
    around = list(local)[len(members) :]
    return (
        tuple([local[link.dst] for link in links]),
        tuple([link.cls for link in links]),
        tuple([nodes[node].kind for node in around]),
        tuple([tuple([link.cls for link in out[node] if link.dst not in local]) for node in around]),
    )


MAPPED_UP_TO = 4096
"""Devices up to which a hypercube is looked for."""


class Properties(Record, kw_only=True):
    """`nodes` by kind and `cables` (both directions are one) by class.

    `degree` counts a device's NeuronLink cables, those to switches included: smallest and largest.
    `hypercube` maps devices to corners where the graph of the devices is a hypercube.
    `connected` says that routes lead both ways between all devices; without that `distances` and
    `bisection` are None. `transitive` says that every device sees the same NeuronLink graph.
    """

    nodes: dict[str, int]
    servers: int
    cables: dict[str, int]
    degree: tuple[int, int]
    connected: bool
    symmetric: bool
    transitive: bool
    distances: Distances | None
    bisection: Bisection | None
    cycles: tuple[Cycle, ...]
    hypercube: tuple[int, ...] | None


def properties(topology: Topology) -> Properties:
    """Everything at once; about half a second for 30,000 devices."""
    kinds = Counter(node.kind for node in topology.nodes)
    ports: Counter[int] = Counter()
    for name, link_class in topology.classes.items():
        if link_class.kind in DEVICE_LINKS:
            ports.update(topology.ends[name][0])
    degrees = [ports[device.id] for device in topology.devices]
    router = Router(topology)
    symmetric = not one_way_links(topology)
    connected = symmetric and len(components(topology)) == 1 and not unrouted(topology, router)
    small = len(topology.devices) <= MAPPED_UP_TO and "network" not in topology.shape
    return Properties(
        nodes={kind.value: kinds[kind] for kind in NodeKind if kinds[kind]},
        servers=len({node.host for node in topology.of_kind(NodeKind.HOST)}),
        cables={name: len(topology.ends[name][0]) // 2 for name in topology.classes},
        degree=(min(degrees), max(degrees)),
        connected=connected,
        symmetric=symmetric,
        transitive=is_transitive(topology),
        distances=distances(topology, router) if connected else None,
        bisection=bisection(topology) if connected else None,
        cycles=hamiltonian_cycles(topology),
        hypercube=hypercube_mapping(topology) if small else None,
    )


def summarise(topology: Topology, summary: Properties | None = None) -> dict[str, Any]:
    """Shape, counts, properties, link classes and readings; bytes/s and seconds, all JSON-safe.

    `found` saves computing the properties again.
    """
    summary = summary or properties(topology)
    far, cut = summary.distances, summary.bisection
    return {
        "name": topology.name,
        "kind": str(topology.shape[0]) if topology.shape else "graph",
        "shape": list(topology.shape),
        "shape_words": shape_words(topology),
        "nodes": dict(summary.nodes),
        "servers": summary.servers,
        "cables": dict(summary.cables),
        "degree": summary.degree[1],
        "degree_min": summary.degree[0],
        "connected": summary.connected,
        "symmetric": summary.symmetric,
        "transitive": summary.transitive,
        "diameter": far.diameter if far else None,
        "average_distance": far.average if far else None,
        "distance_method": far.method if far else "",
        "bisection_cables": cut.cables if cut else None,
        "bisection_one_way_bytes_per_s": cut.one_way if cut else None,
        "bisection_both_ways_bytes_per_s": cut.both_ways if cut else None,
        "bisection_method": cut.method if cut else "",
        "bisection_exact": cut.exact if cut else None,
        "hamiltonian_cycles": len(summary.cycles),
        "hypercube": (len(summary.hypercube) - 1).bit_length() if summary.hypercube else 0,
        "links": {
            name: {
                "kind": each.kind.value,
                "cables": summary.cables[name],
                "bandwidth": _figure(each.bandwidth),
                "latency": _figure(each.latency),
            }
            for name, each in topology.classes.items()
        },
        "budgets": [
            {
                "name": budget.name,
                "owner": budget.owner,
                "classes": list(budget.classes),
                "figure": _figure(budget.figure),
                "readings": {name: _figure(reading) for name, reading in budget.readings.items()},
            }
            for budget in topology.budgets
        ],
        "notes": list(topology.notes),
    }


def _figure(figure: Figure) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(figure)
    return fields
