"""The islands of a graph: what links below the adapters connect, hosts left out."""

from __future__ import annotations

from functools import cached_property

from trnbench.topology.graph import Link, NodeKind, Topology


class Islands:
    """Which island every node is in, and what joins them; worked out when first asked for."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology

    @cached_property
    def outer(self) -> frozenset[int]:
        """Adapters and networks: what joins islands."""
        kinds = (NodeKind.ADAPTER, NodeKind.NETWORK)
        return frozenset(node.id for node in self.topology.nodes if node.kind in kinds)

    @cached_property
    def island_of(self) -> list[int]:
        """For every node the number of its island; −1 for hosts, adapters and networks."""
        out = self.topology.out
        apart = self.outer | {node.id for node in self.topology.of_kind(NodeKind.HOST)}
        unseen = len(out)
        island = [-1 if node in apart else unseen for node in range(len(out))]
        number = 0
        for start in range(len(out)):
            if island[start] != unseen:
                continue
            island[start] = number
            stack = [start]
            while stack:
                for link in out[stack.pop()]:
                    if island[link.dst] == unseen:
                        island[link.dst] = number
                        stack.append(link.dst)
            number += 1
        return island

    @cached_property
    def islands(self) -> tuple[tuple[int, ...], ...]:
        """Node ids of every island, in the order of their first node."""
        members: list[list[int]] = [[] for _ in range(max(self.island_of, default=-1) + 1)]
        for node, island in enumerate(self.island_of):
            if island >= 0:
                members[island].append(node)
        return tuple(map(tuple, members))

    @cached_property
    def into(self) -> tuple[tuple[Link, ...], ...]:
        """Links that enter each node."""
        lists: list[list[Link]] = [[] for _ in self.topology.nodes]
        for link in self.topology.links:
            lists[link.dst].append(link)
        return tuple(map(tuple, lists))
