"""How far devices are from each other: diameter and average, in links crossed."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from trnbench.topology.graph import Topology
from trnbench.topology.routing import Router
from trnbench.topology.shape import torus_sides

ALL_PAIRS_UP_TO = 512
"""Devices of one island below which every pair is looked at; above it, a closed form or a sample."""

SAMPLE = 32


class Distances(msgspec.Struct, frozen=True, kw_only=True):
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
    groups: dict[int, list[int]] = {}
    for device in topology.devices:
        groups.setdefault(router.island_of[device.id], []).append(device.id)
    return list(groups.values())


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
    known: dict[tuple[object, ...], tuple[int, int, list[int]]] = {}
    count = len(topology.devices)
    inside = total = 0
    farthest = [0, 0]
    for group in groups:
        pattern = wiring(topology, group)
        if pattern not in known:
            known[pattern] = (*_reach(router, group, group), [router.way_out(each) for each in group])
        longest, inner, ways = known[pattern]
        inside = max(inside, longest)
        total += inner + 2 * sum(ways) * (count - len(group))
        farthest = sorted([*farthest, max(ways)])[-2:]
    kinds = "one kind of island" if len(known) == 1 else f"{len(known)} kinds of island"
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
