"""Hamiltonian cycles that a ring may run on: edge-disjoint where links are few.

Behind switches of several levels every level's links carry a share of the work. A walk in rank order crosses
the inner switches at nearly every hop and leaves the outer ones idle. Walks in reflected mixed-radix Gray
order (Knuth, The Art of Computer Programming 4A, section 7.2.1.1) change one coordinate per hop, mostly the
fastest: one family of walks for each choice of it, each moved to several places so that its rare hops do not
meet. How much of the buffer a family takes is what makes the busiest link least busy.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, starmap
from math import prod

import numpy as np

from trnbench.topology import NodeKind, torus_cycles
from trnbench_emulator.fabric.maxmin import Floats
from trnbench_emulator.fabric.network import Network

PLACES = 4
"""Walks of each family."""
ROUNDS = 4000
"""Steps of the search for shares: they come within a hundredth of the best."""

Lane = tuple[tuple[int, ...], float]
"""Devices in the order of a walk, and its share of the buffer."""


def level_walks(network: Network) -> list[Lane]:
    """Empty where ranks are not alike, or differ in one coordinate only."""
    symmetry = network.symmetry
    each = network.ranks_per_device
    if symmetry is None or not each:
        return []
    width = len(symmetry.digits) - (each > 1)
    sizes = [digit.size for digit in symmetry.digits[:width]]
    axes = [axis for axis in range(width) if sizes[axis] > 1]
    if len(axes) < 2 or all(sizes[axis] % 2 for axis in axes):
        return []
    device_at = {coord[:width]: device for coord, device in zip(symmetry.coords, network.shared, strict=True)}
    families = []
    for fastest in axes:
        walk = _gray(sizes, _order(axes, sizes, fastest))
        places = [tuple(device_at[_moved(at, sizes, place)] for at in walk) for place in range(PLACES)]
        families.append(list(dict.fromkeys(places)))
    shares = _shares(np.array([_loads(network, family) for family in families]))
    return [
        (walk, float(share) / len(family))
        for family, share in zip(families, shares, strict=True)
        for walk in family
    ]


def _moved(at: Sequence[int], sizes: Sequence[int], place: int) -> tuple[int, ...]:
    return tuple((c + place * size // PLACES) % size for c, size in zip(at, sizes, strict=True))


def _order(axes: Sequence[int], sizes: Sequence[int], fastest: int) -> list[int]:
    """Slowest first. The slowest has an even size, so that the walk closes with one more hop along it."""
    rest = [axis for axis in axes if axis != fastest]
    slowest = next((axis for axis in rest if sizes[axis] % 2 == 0), None)
    if slowest is None:  # only the fastest is even: it closes the walk itself
        return [fastest, *rest]
    return [slowest, *(axis for axis in rest if axis != slowest), fastest]


def _gray(sizes: Sequence[int], order: Sequence[int]) -> list[tuple[int, ...]]:
    """Every position once, one coordinate changed by one from each to the next; `order` slowest first."""
    walks: list[dict[int, int]] = [{}]
    for axis in order:
        longer = []
        for number, at in enumerate(walks):
            steps = range(sizes[axis]) if number % 2 == 0 else reversed(range(sizes[axis]))
            longer += [{**at, axis: value} for value in steps]
        walks = longer
    return [tuple(at.get(axis, 0) for axis in range(len(sizes))) for at in walks]


def _loads(network: Network, family: Sequence[Sequence[int]]) -> Floats:
    """Seconds that every link is busy for one byte over each hop of the family's walks together."""
    busy = np.zeros(len(network.links))
    for walk in family:
        for a, b in hops(walk):
            route = network.route(network.ranks_on[a][0], network.ranks_on[b][0])
            np.add.at(busy, route.resources, route.weights / len(family))
    found: Floats = busy / network.bandwidth
    return found


def _shares(loads: Floats) -> Floats:
    """Shares of the rows that sum to one and make the largest column of their mix small.

    A game of rows against columns, both by multiplicative weights (Freund and Schapire 1999): the mean of
    the rows' plays tends to the best.
    """
    rows = len(loads)
    scaled = loads / loads.max()
    plays, prices, mean = np.zeros(rows), np.zeros(scaled.shape[1]), np.zeros(rows)
    rate = float(np.sqrt(np.log(scaled.shape[1]) / ROUNDS))
    for _ in range(ROUNDS):
        share = np.exp(-rate * (plays - plays.min()))
        share /= share.sum()
        price = np.exp(rate * (prices - prices.max()))
        price /= price.sum()
        plays += scaled @ price
        prices += share @ scaled
        mean += share
    found: Floats = mean / mean.sum()
    return found


Cycle = tuple[int, ...]
"""Ranks in the order of the walk; the last passes to the first."""


def hops(cycle: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """From each of a cycle to the next, and from the last to the first."""
    return tuple(pairwise((*cycle, cycle[0])))


ALIKE = 1.0 + 1e-9
"""Factor between rates up to which rounding alone sets them apart."""


def directed_cycles(network: Network, directions: int, most: int) -> Sequence[Cycle]:
    """Cycles through all ranks, both ways round when `directions` is 2, `most` of them (0: all).

    On neighbour links the topology's edge-disjoint Hamiltonian cycles, as far as their links are
    there; ranks of one device follow each other. Behind switches one cycle one way round: a rank has
    one cable to its switch, which the way back would share.
    """
    cycles = [
        tuple(rank for device in walk for rank in network.ranks_on[device])
        for walk in _undirected(network)[: most or None]
    ]
    both = directions == 2 and network.size > 2 and not _switched(network)
    return _both_ways(cycles) if both else cycles


def cycle_shares(network: Network, cycles: Sequence[Sequence[int]]) -> list[float]:
    """Of the buffer for each cycle of ranks: by the rate of its slowest hop, so that all end at once.

    A link that carries half gets half; where all are alike the shares are.
    """
    rates = [
        min(
            float((network.bandwidth[route.resources] / route.weights).min())
            for route in starmap(network.route, hops(cycle))
        )
        for cycle in cycles
    ]
    if max(rates) <= ALIKE * min(rates):
        return [1 / len(cycles)] * len(cycles)
    return [rate / sum(rates) for rate in rates]


def level_cycles(network: Network) -> Sequence[tuple[Cycle, float]]:
    """Behind switches of several levels: cycles that favour one of them each, and their shares."""
    known: list[tuple[Cycle, float]] | None = network.memo.get("level cycles")
    if known is None:
        known = []
        if _switched(network):
            known = [
                (tuple(rank for device in walk for rank in network.ranks_on[device]), share)
                for walk, share in level_walks(network)
            ]
        network.memo["level cycles"] = known
    return known


def device_cycles(network: Network) -> Sequence[Cycle]:
    """The same through the devices (numbers of `Network.shared`), every way round there is."""
    walks = _undirected(network)
    return _both_ways(walks) if max(network.shared) > 1 and not _switched(network) else walks


def _both_ways(cycles: Sequence[Cycle]) -> list[Cycle]:
    return [way for cycle in cycles for way in (cycle, cycle[::-1])]


def _undirected(network: Network) -> list[Cycle]:
    """Through the devices, one way round."""
    found: list[Cycle] | None = network.memo.get("cycles")
    if found is None:
        found = network.memo["cycles"] = _of_torus(network) or [_by_halves(network)]
    return found


def _switched(network: Network) -> bool:
    devices = set(network.device_nodes)
    return any(
        link.src in devices and network.nodes[link.dst].kind in (NodeKind.SWITCH, NodeKind.NETWORK)
        for link in network.links
    )


def _of_torus(network: Network) -> list[Cycle]:
    """Those of the torus that the devices are: a machine, an instance of a cluster, a plane or a line."""
    topology = network.topology
    nodes = [network.nodes[node] for node in network.device_nodes]
    places = [node.coord for node in nodes]
    apart = "network" in topology.shape and len({node.host for node in nodes}) > 1
    if apart or topology.shape[:1] not in (("torus",), ("ring",)):
        return []
    sides = [len(set(axis)) for axis in zip(*places, strict=False)]
    if prod(sides) != len(places):
        return []
    order = sorted(range(len(places)), key=places.__getitem__)
    joined = {(network.nodes[link.src].id, network.nodes[link.dst].id) for link in network.links}
    walks = [[order[number] for number in cycle] for cycle in torus_cycles(sides)]
    return [
        tuple(walk) for walk in walks if joined.issuperset((nodes[a].id, nodes[b].id) for a, b in hops(walk))
    ]


def _by_halves(network: Network) -> Cycle:
    """Rank order; where devices of two halves are cabled in pairs, the second half backwards.

    The walk then crosses between the halves over two cables that nobody else needs.
    """
    nodes = network.device_nodes
    count = len(nodes)
    order = tuple(range(count))
    if count < 4 or count % 2:
        return order
    joined = {(link.src, link.dst) for link in network.links}
    turned = (*range(count // 2), *range(count - 1, count // 2 - 1, -1))
    crossings = ((turned[count // 2 - 1], turned[count // 2]), (turned[-1], turned[0]))
    if all((nodes[a], nodes[b]) in joined for a, b in crossings):
        return turned
    return order
