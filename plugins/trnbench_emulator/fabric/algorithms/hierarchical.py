"""Intra reduce-scatter, inter all-reduce of each shard, intra all-gather.

Inside a server the bucket algorithm on its torus (direct where it has none); between servers the devices
of one place run a ring, halving and doubling, or a mesh with each other: 2(m−1)(α + S/(g·m·B)), or
2·log₂(m)·α + …, or 2(α + …), of S/g bytes for g devices per server and m servers. The Neuron guide to
collectives between nodes names these combinations; costs of the phases: Thakur et al. 2005.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trnbench_emulator.fabric.algorithms.algorithm import (
    ALL_GATHER,
    ALL_REDUCE,
    REDUCE_SCATTER,
    Algorithm,
    NotPossible,
    OverInstances,
    Transfer,
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
        chains: list[tuple[Step, ...]] = []
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
                    Step(moves=(Move(size=s / lanes, pairs=p, writes=2.0, copies=alone),), times=t)
                    for p, s, t in reversed(moves)
                ]
            if gathers:
                chain += [
                    Step(moves=(Move(size=s / lanes, pairs=p, copies=alone),), times=t) for p, s, t in moves
                ]
            if gather:
                chain += gather.chains[lane]
            chains.append(tuple(chain))
        return Schedule(algorithm=self.name, chains=tuple(chains), note=f"{m:,} servers of {g}")

    def transfers(self, network: Network, collective: str) -> Iterator[list[Transfer]]:
        """A block of the inner algorithm is cut into one block per server."""
        groups = self._servers(network)
        outer_steps(self.outer, len(groups))
        inner, sub = self._inner(network, groups)
        g, m, n = len(groups[0]), len(groups), network.size
        reduces, gathers = ways(collective)
        lanes = 1
        if g > 1:
            every = {b for step in inner.transfers(sub, ALL_GATHER) for t in step for b in t.blocks}
            lanes = len(every) // g

        def own(inner_block: int, server: int) -> int:
            """Lane·n + the rank that the block ends at."""
            lane, place = divmod(inner_block, g)
            return lane * n + groups[server][place]

        def widened(step: Sequence[Transfer]) -> list[Transfer]:
            return [
                Transfer(
                    groups[server][t.src],
                    groups[server][t.dst],
                    tuple(own(b, other) for b in t.blocks for other in range(m)),
                    t.add,
                )
                for t in step
                for server in range(m)
            ]

        if reduces and g > 1:
            for step in inner.transfers(sub, REDUCE_SCATTER):
                yield widened(step)
        yield from self._outer_transfers(groups, lanes, n, reduces, gathers)
        if gathers and g > 1:
            for step in inner.transfers(sub, ALL_GATHER):
                yield widened(step)

    def _outer_transfers(
        self, groups: Sequence[Sequence[int]], lanes: int, n: int, reduces: bool, gathers: bool
    ) -> Iterator[list[Transfer]]:
        m, g = len(groups), len(groups[0])

        def blocks(place: int, servers: Sequence[int]) -> tuple[int, ...]:
            return tuple(lane * n + groups[s][place] for lane in range(lanes) for s in servers)

        def step(held: Mapping[tuple[int, int], Sequence[int]], add: bool) -> list[Transfer]:
            return [
                Transfer(groups[a][i], groups[b][i], blocks(i, servers), add)
                for (a, b), servers in held.items()
                for i in range(g)
            ]

        if m < 2:
            return
        if self.outer == "ring":
            if reduces:
                for k in range(m - 1):
                    yield step({(s, (s + 1) % m): [(s - k - 1) % m] for s in range(m)}, True)
            if gathers:
                for k in range(m - 1):
                    yield step({(s, (s + 1) % m): [(s - k) % m] for s in range(m)}, False)
            return
        if self.outer == "mesh":
            others = [(a, b) for a in range(m) for b in range(m) if a != b]
            if reduces:
                yield step({(a, b): [b] for a, b in others}, True)
            if gathers:
                yield step({(a, b): [a] for a, b in others}, False)
            return
        bits = [1 << bit for bit in range(m.bit_length() - 1)]
        if reduces:  # the largest halves first: the partner's side of everything not yet given away
            for bit in reversed(bits):
                side = {(s, s ^ bit): [x for x in range(m) if (x ^ s ^ bit) < bit] for s in range(m)}
                yield step(side, True)
        if gathers:
            for bit in bits:
                yield step({(s, s ^ bit): [x for x in range(m) if (x ^ s) < bit] for s in range(m)}, False)

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
        hosts: dict[int, list[int]] = {}
        for rank, node in enumerate(network.ranks):
            hosts.setdefault(network.nodes[node].host, []).append(rank)
        groups = list(hosts.values())
        if len(groups) < 2 or len({len(group) for group in groups}) != 1:
            raise NotPossible(
                f"{self.name} needs two servers or more with equally many ranks",
                cause=f"{network.topology.name} has its {network.size} ranks on {len(groups)} servers here",
                try_="--algorithm ring, rdh or bucket",
            )
        return groups

    def _inner(self, network: Network, groups: Sequence[Sequence[int]]) -> tuple[Algorithm, Network]:
        sub: Network | None = network.memo.get("server")
        if sub is None:
            sub = network.memo["server"] = network.part(groups[0])
        torus = sub.symmetry is not None and not any(digit.xor for digit in sub.symmetry.digits)
        return (Bucket("bucket", ports="all") if torus else Mesh()), sub
