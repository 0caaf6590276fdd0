"""Hamiltonian cycles that a ring may run on: edge-disjoint where links are few."""

from __future__ import annotations

from collections.abc import Sequence

from trnbench.emulator.fabric.network import Network
from trnbench.topology.cycles import hamiltonian_cycles

Cycle = tuple[int, ...]
"""Ranks in the order of the walk; the last passes to the first."""


def directed_cycles(network: Network, directions: int, most: int) -> Sequence[Cycle]:
    """Cycles through all ranks, both ways round when `directions` is 2, `most` of them (0: all).

    On neighbour links the topology's edge-disjoint Hamiltonian cycles, as far as their links are
    there. Where ranks are joined through switches, or no such cycle is known, one in rank order.
    """
    key = ("cycles", directions, most)
    found: list[Cycle] | None = network.memo.get(key)
    if found is None:
        found = _known(network) or [tuple(range(network.size))]
        found = found[:most] if most else found
        if directions == 2 and network.size > 2:
            found = [way for cycle in found for way in (cycle, cycle[::-1])]
        network.memo[key] = found
    return found


def _known(network: Network) -> list[Cycle]:
    rank_of = {network.nodes[node].id: rank for rank, node in enumerate(network.ranks)}
    if len(rank_of) != len(network.topology.devices):
        return []
    joined = {(network.nodes[link.src].id, network.nodes[link.dst].id) for link in network.links}
    cycles = []
    for cycle in hamiltonian_cycles(network.topology):
        steps = zip(cycle, (*cycle[1:], cycle[0]), strict=True)
        if all((a, b) in joined for a, b in steps):
            cycles.append(tuple(rank_of[node] for node in cycle))
    return cycles
