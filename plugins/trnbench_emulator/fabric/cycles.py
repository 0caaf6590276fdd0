"""Hamiltonian cycles that a ring may run on: edge-disjoint where links are few."""

from __future__ import annotations

from collections.abc import Sequence

from trnbench.topology import NodeKind, hamiltonian_cycles
from trnbench_emulator.fabric.levels import level_walks
from trnbench_emulator.fabric.network import Network

Cycle = tuple[int, ...]
"""Ranks in the order of the walk; the last passes to the first."""


ALIKE = 1.0 + 1e-9
"""Factor between rates up to which rounding alone sets them apart."""


def directed_cycles(network: Network, directions: int, most: int) -> Sequence[Cycle]:
    """Cycles through all ranks, both ways round when `directions` is 2, `most` of them (0: all).

    On neighbour links the topology's edge-disjoint Hamiltonian cycles, as far as their links are
    there; ranks of one device follow each other. Behind switches one cycle one way round: a rank has
    one cable to its switch, which the way back would share.
    """
    key = ("cycles", directions, most)
    found: list[Cycle] | None = network.memo.get(key)
    if found is None:
        ranks: list[list[int]] = [[] for _ in range(max(network.shared) + 1)]
        for rank, device in enumerate(network.shared):
            ranks[device].append(rank)
        walks = _undirected(network)
        walks = walks[:most] if most else walks
        found = [tuple(rank for device in walk for rank in ranks[device]) for walk in walks]
        if directions == 2 and network.size > 2 and not _switched(network):
            found = [way for cycle in found for way in (cycle, cycle[::-1])]
        network.memo[key] = found
    return found


def cycle_shares(network: Network, cycles: Sequence[Sequence[int]]) -> list[float]:
    """Of the buffer for each cycle of ranks: by the rate of its slowest hop, so that all end at once.

    A link that carries half gets half; where all are alike the shares are.
    """
    rates = [
        min(
            float((network.bandwidth[route.resources] / route.weights).min())
            for route in map(network.route, cycle, (*cycle[1:], cycle[0]))
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
            held: list[list[int]] = [[] for _ in range(max(network.shared) + 1)]
            for rank, device in enumerate(network.shared):
                held[device].append(rank)
            known = [
                (tuple(rank for device in walk for rank in held[device]), share)
                for walk, share in level_walks(network)
            ]
        network.memo["level cycles"] = known
    return known


def device_cycles(network: Network) -> Sequence[Cycle]:
    """The same through the devices (numbers of `Network.shared`), every way round there is."""
    found: list[Cycle] | None = network.memo.get("device cycles")
    if found is None:
        found = _undirected(network)
        if max(network.shared) > 1 and not _switched(network):
            found = [way for cycle in found for way in (cycle, cycle[::-1])]
        network.memo["device cycles"] = found
    return found


def _undirected(network: Network) -> list[Cycle]:
    return _known(network) or [_by_halves(network)]


def _device_nodes(network: Network) -> list[int]:
    """Position in `Network.nodes` of every device: the rank itself, or what its ranks are joined to."""
    found = [-1] * (max(network.shared, default=-1) + 1)
    over = {link.src: link.dst for link in network.links if network.nodes[link.src].kind is NodeKind.CORE}
    for rank, device in enumerate(network.shared):
        node = network.ranks[rank]
        found[device] = over.get(node, node)
    return found


def _switched(network: Network) -> bool:
    devices = set(_device_nodes(network))
    return any(
        link.src in devices and network.nodes[link.dst].kind in (NodeKind.SWITCH, NodeKind.NETWORK)
        for link in network.links
    )


def _known(network: Network) -> list[Cycle]:
    nodes = _device_nodes(network)
    device_of = {network.nodes[node].id: device for device, node in enumerate(nodes)}
    if len(device_of) != len(network.topology.devices):
        return []
    joined = {(network.nodes[link.src].id, network.nodes[link.dst].id) for link in network.links}
    cycles = []
    for cycle in hamiltonian_cycles(network.topology):
        steps = zip(cycle, (*cycle[1:], cycle[0]), strict=True)
        if all((a, b) in joined for a, b in steps):
            cycles.append(tuple(device_of[node] for node in cycle))
    return cycles


def _by_halves(network: Network) -> Cycle:
    """Rank order; where devices of two halves are cabled in pairs, the second half backwards.

    The walk then crosses between the halves over two cables that nobody else needs.
    """
    nodes = _device_nodes(network)
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
