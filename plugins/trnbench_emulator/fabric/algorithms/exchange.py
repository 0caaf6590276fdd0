"""Everyone to everyone in one step; the network routes and shares. Mesh in the Neuron documents.

On a switch 2(α + (n−1)/n·S/B) for an all-reduce. All-to-all bound: Dally and Towles, Principles and
Practices of Interconnection Networks (2004), chapter 3: the bisection and each rank's ports.
"""

from __future__ import annotations

from trnbench_emulator.fabric.algorithms.algorithm import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    REDUCE,
    REDUCE_SCATTER,
    Algorithm,
    ways,
)
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.schedule import Move, Schedule, Step


class Mesh(Algorithm):
    """Scatter and gather in one step each."""

    name = "mesh"
    collectives = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE)

    def schedule(self, network: Network, collective: str, size: float) -> Schedule:
        n = network.size
        if collective in (BROADCAST, REDUCE):
            away = range(1, n)
            pairs = tuple((0, r) if collective == BROADCAST else (r, 0) for r in away)
            step = Step.of(
                Move(size=size, pairs=pairs, writes=2.0 if collective == REDUCE else 1.0, direct=True)
            )
            return self.plan([[step]])
        reduces, gathers = ways(collective)
        # A rank reads its part once per receiver; the receiver reads all n parts again to reduce them.
        steps = [Step(moves=everyone(network, size / n, writes=2.0))] if reduces else []
        steps += [Step(moves=everyone(network, size / n))] if gathers else []
        return self.plan([steps])


class SingleStepMesh(Algorithm):
    """Every rank sends its whole vector to every other: one hop, n times the traffic."""

    name = "single-step-mesh"
    collectives = (ALL_REDUCE,)

    def schedule(self, network: Network, collective: str, size: float) -> Schedule:
        return self.plan([[Step(moves=everyone(network, size, writes=2.0))]])


class Direct(Algorithm):
    """All-to-all, all pairs at once; uneven parts of a gather or a reduce-scatter go in the same way."""

    name = "direct"
    collectives = (ALL_TO_ALL,)
    uneven = (ALL_GATHER, ALL_TO_ALL, REDUCE_SCATTER)

    def schedule(self, network: Network, collective: str, size: float) -> Schedule:
        # What is received to be summed is read again, as in a mesh.
        writes = 2.0 if collective == REDUCE_SCATTER else 1.0
        moves = everyone(network, size / network.size, writes=writes)
        return self.plan([[Step(moves=moves)]])


class Pairwise(Algorithm):
    """All-to-all in n−1 steps, one partner at a time."""

    name = "pairwise"
    collectives = (ALL_TO_ALL,)
    auto_ranks = 256

    def schedule(self, network: Network, collective: str, size: float) -> Schedule:
        steps = tuple(Step.of(move) for move in everyone(network, size / network.size))
        return self.plan([steps])


def everyone(network: Network, size: float, *, writes: float = 1.0) -> tuple[Move, ...]:
    """One move per translation; where the ranks are not alike, one per distance in rank order."""
    n = network.size
    if network.symmetry is not None:
        offsets = [network.symmetry.offset(0, r) for r in range(1, n)]
        return tuple(Move(size=size, offset=offset, writes=writes, direct=True) for offset in offsets)
    return tuple(
        Move(size=size, pairs=tuple((r, (r + k) % n) for r in range(n)), writes=writes, direct=True)
        for k in range(1, n)
    )
