"""Rings and open chains."""

from __future__ import annotations

from collections.abc import Sequence

from trnbench.topology.builders.assembly import Assembly


def connect_ring(assembly: Assembly, nodes: Sequence[int], cls: str) -> None:
    """Joins every node to the one before and the one after; the last to the first.

    Two nodes get one cable, a single node none. From each node the link to the one before is added
    first, as `neuron-ls` prints neighbours.
    """
    count = len(nodes)
    if count == 2:
        assembly.join(nodes[0], nodes[1], cls)
        return
    if count < 2:
        return
    for i, node in enumerate(nodes):
        assembly.send(node, nodes[i - 1], cls)
        assembly.send(node, nodes[(i + 1) % count], cls)


def connect_chain(assembly: Assembly, nodes: Sequence[int], cls: str) -> None:
    """Joins every node to the one before and the one after; both ends stay open."""
    for i, node in enumerate(nodes):
        if i > 0:
            assembly.send(node, nodes[i - 1], cls)
        if i + 1 < len(nodes):
            assembly.send(node, nodes[i + 1], cls)
