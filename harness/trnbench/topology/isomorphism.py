"""Are two graphs one graph? A mapping is the proof."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from trnbench.topology.builder import label
from trnbench.topology.graph import Topology, torus_sides

Adjacency: TypeAlias = Sequence[frozenset[int]]
"""For every node its neighbours."""


def device_adjacency(topology: Topology) -> list[frozenset[int]]:
    """Neighbours of every device over direct links."""
    count = len(topology.devices)
    return [
        frozenset(link.dst for link in topology.out[device.id] if link.dst < count)
        for device in topology.devices
    ]


def hypercube_adjacency(bits: int) -> list[frozenset[int]]:
    """The hypercube of 2^bits corners: neighbours differ in one bit."""
    return [frozenset(corner ^ (1 << bit) for bit in range(bits)) for corner in range(1 << bits)]


def is_isomorphism(one: Adjacency, other: Adjacency, mapping: Sequence[int]) -> bool:
    """Is `mapping` (a node of `one` → a node of `other`) one-to-one, onto, and true to every link?"""
    if len(one) != len(other) or sorted(mapping) != list(range(len(other))):
        return False
    return all(frozenset(mapping[n] for n in one[node]) == other[mapping[node]] for node in range(len(one)))


def hypercube_mapping(topology: Topology) -> tuple[int, ...] | None:
    """Device → corner of the hypercube it is one with, checked link by link; None if it is none.

    By Gray code for tori of sides 4 and 2, by search for other small graphs.
    """
    adjacency = device_adjacency(topology)
    bits = (len(adjacency) - 1).bit_length()
    if len(adjacency) < 2 or len(adjacency) != 1 << bits or any(len(n) != bits for n in adjacency):
        return None
    cube = hypercube_adjacency(bits)
    sides = torus_sides(topology)
    if sides is not None and set(sides) == {4}:
        mapping = tuple(label(device.coord[-len(sides) :]) for device in topology.devices)
        return mapping if is_isomorphism(adjacency, cube, mapping) else None
    return isomorphism(adjacency, cube)


def isomorphism(one: Adjacency, other: Adjacency) -> tuple[int, ...] | None:
    """A node-to-node mapping that keeps every link, or None when there is none.

    Backtracking in breadth-first order, so every node after the first of its component has a placed
    neighbour and few candidates.
    """
    if len(one) != len(other) or sorted(map(len, one)) != sorted(map(len, other)):
        return None
    order = _breadth_first(one)
    mapping = [-1] * len(one)
    mapped = [False] * len(other)

    def place(position: int) -> bool:
        if position == len(order):
            return True
        node = order[position]
        placed = [mapping[n] for n in one[node] if mapping[n] >= 0]
        candidates = (
            sorted(frozenset.intersection(*(other[p] for p in placed))) if placed else range(len(other))
        )
        for candidate in candidates:
            if mapped[candidate] or len(other[candidate]) != len(one[node]):
                continue
            if sum(mapped[n] for n in other[candidate]) != len(placed):
                continue
            mapping[node], mapped[candidate] = candidate, True
            if place(position + 1):
                return True
            mapping[node], mapped[candidate] = -1, False
        return False

    return tuple(mapping) if place(0) else None


def _breadth_first(graph: Adjacency) -> list[int]:
    order: list[int] = []
    seen: set[int] = set()
    for start in range(len(graph)):
        if start in seen:
            continue
        seen.add(start)
        queue = [start]
        for node in queue:
            fresh = sorted(n for n in graph[node] if n not in seen)
            seen.update(fresh)
            queue += fresh
        order += queue
    return order
