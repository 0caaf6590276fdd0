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
        nodes, out = self.topology.nodes, self.topology.out
        island = [-1] * len(nodes)
        number = 0
        for start in nodes:
            if island[start.id] >= 0 or start.kind == NodeKind.HOST or start.id in self.outer:
                continue
            island[start.id] = number
            stack = [start.id]
            while stack:
                for link in out[stack.pop()]:
                    there = link.dst
                    if island[there] < 0 and nodes[there].kind != NodeKind.HOST and there not in self.outer:
                        island[there] = number
                        stack.append(there)
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
