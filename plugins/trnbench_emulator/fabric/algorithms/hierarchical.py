"""Intra reduce-scatter, inter all-reduce of each shard, intra all-gather.

Inside a server the bucket algorithm on its torus (direct where it has none); between servers the devices
of one place run a ring, halving and doubling, or a mesh with each other: 2(m−1)(α + S/(g·m·B)), or
2·log₂(m)·α + …, or 2(α + …), of S/g bytes for g devices per server and m servers. The Neuron guide to
collectives between nodes names these combinations; costs of the phases: Thakur et al. 2005.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trnbench.errors import counted
from trnbench.record import grouped
from trnbench_emulator.fabric.algorithms.algorithm import (
    ALL_GATHER,
    ALL_REDUCE,
    REDUCE_SCATTER,
    Algorithm,
    NotPossible,
    OverInstances,
    ways,
)
from trnbench_emulator.fabric.algorithms.bucket import Bucket
from trnbench_emulator.fabric.algorithms.exchange import Mesh
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.schedule import Move, Schedule, Step
from trnbench_emulator.fabric.transform import spread

Exchange = tuple[int, float, int]
"""(distance in servers, or bit for halving, or 0 for all; share of the shard per message; times)."""


def outer_steps(outer: str, servers: int) -> list[Exchange]:
    """Steps that gather (or, backwards, reduce) among `servers` of them; shares of the shard."""
    if servers < 2:
        return []
    if outer == "ring":
        return [(1, 1 / servers, servers - 1)]
    if outer == "mesh":
        return [(0, 1 / servers, 1)]
    if servers & (servers - 1):
        raise NotPossible(
            f"hierarchical-rdh needs a power of two of servers, not {servers:,}",
            cause="partners are found by flipping one bit of the server's number",
            try_="--algorithm hierarchical-ring or hierarchical-mesh",
        )
    return [(1 << bit, (1 << bit) / servers, 1) for bit in range(servers.bit_length() - 1)]


class Hierarchical(Algorithm, OverInstances):
    """`outer`: "ring", "rdh" or "mesh" between the servers."""

    collectives = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER)
    auto_ranks = 128

    def __init__(self, name: str, *, outer: str) -> None:
        self.name, self.outer = name, outer
        self.pipelined = outer == "ring"

    def schedule(self, network: Network, collective: str, size: float) -> Schedule:
        return self.over_instances(network, collective, size, 0)

    def over_instances(self, network: Network, collective: str, size: float, instances: int) -> Schedule:
        """`instances` of them (0: those of the network) that all do the same. A few stand for any number:
        what one sends and receives in a step loads its links alike, whoever the partner is.
        """
        groups = self._servers(network)
        inner, sub = self._inner(network, groups)
        g, m = len(groups[0]), instances or len(groups)
        alone = 1.0 if m == len(groups) or self.outer != "mesh" else (m - 1) / (len(groups) - 1)
        reduces, gathers = ways(collective)
        shard = size / g
        moves = [
            (tuple(self._pairs(groups, distance if m == len(groups) else 1)), share * shard, times)
            for distance, share, times in outer_steps(self.outer, m)
        ]
        chains = []
        scatter = gather = None
        if g > 1 and reduces:
            scatter = spread(inner.schedule(sub, REDUCE_SCATTER, size), sub, *groups)
        if g > 1 and gathers:
            gather = spread(inner.schedule(sub, ALL_GATHER, size), sub, *groups)
        lanes = max(len(each.chains) for each in (scatter, gather) if each) if g > 1 else 1
        for lane in range(lanes):
            chain: list[Step] = []
            if scatter:
                chain += scatter.chains[lane]
            if reduces:
                chain += [
                    Step.of(Move(size=s / lanes, pairs=p, writes=2.0, copies=alone), times=t)
                    for p, s, t in reversed(moves)
                ]
            if gathers:
                chain += [Step.of(Move(size=s / lanes, pairs=p, copies=alone), times=t) for p, s, t in moves]
            if gather:
                chain += gather.chains[lane]
            chains.append(chain)
        return self.plan(chains, f"{m:,} servers of {g}")

    def _pairs(self, groups: Sequence[Sequence[int]], distance: int) -> Iterator[tuple[int, int]]:
        m = len(groups)
        for s in range(m):
            if self.outer == "mesh":
                there: Sequence[int] = [x for x in range(m) if x != s]
            else:
                there = [s ^ distance] if self.outer == "rdh" else [(s + distance) % m]
            for t in there:
                yield from zip(groups[s], groups[t], strict=True)

    def _servers(self, network: Network) -> list[list[int]]:
        hosts = grouped(range(network.size), lambda rank: network.nodes[network.ranks[rank]].host)
        groups = list(hosts.values())
        if len(groups) < 2 or len({len(group) for group in groups}) != 1:
            raise NotPossible(
                f"{self.name} needs two servers or more with equally many ranks",
                cause=f"{network.topology.name} has its {network.size} ranks on "
                f"{counted(len(groups), 'server')} here",
                try_="--algorithm ring, rdh or bucket",
            )
        return groups

    def _inner(self, network: Network, groups: Sequence[Sequence[int]]) -> tuple[Algorithm, Network]:
        sub: Network | None = network.memo.get("server")
        if sub is None:
            sub = network.memo["server"] = network.part(groups[0])
        torus = sub.symmetry is not None and not any(digit.xor for digit in sub.symmetry.digits)
        return (Bucket("bucket", ports="all") if torus else Mesh()), sub
