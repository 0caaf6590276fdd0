"""Large broadcasts: scatter from the root, then all-gather; large reductions the other way round.

(n−1)/n·S/B twice instead of S/B per level of a tree: van de Geijn's algorithm, Chan et al. 2007. Small ones
take the tree.
"""

from __future__ import annotations

from trnbench_emulator.fabric.algorithms.algorithm import (
    ALL_GATHER,
    ALL_REDUCE,
    BROADCAST,
    REDUCE,
    REDUCE_SCATTER,
    Algorithm,
    NotPossible,
)
from trnbench_emulator.fabric.algorithms.bucket import Bucket
from trnbench_emulator.fabric.algorithms.exchange import Mesh
from trnbench_emulator.fabric.algorithms.switch import SwitchDirect
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.schedule import Move, Schedule, Step


class ScatterGather(Algorithm):
    """The gathering half is the bucket algorithm on a torus, direct level by level behind switches."""

    name = "scatter-gather"
    collectives = (BROADCAST, REDUCE)

    def schedule(self, network: Network, collective: str, size: float) -> Schedule:
        n = network.size
        out = collective == BROADCAST
        half = _half(network, ALL_GATHER if out else REDUCE_SCATTER, size)
        pairs = tuple((0, r) if out else (r, 0) for r in range(1, n))
        chains = []
        for chain in half.chains:
            block = chain[0 if out else -1].moves[0].size  # of a lane, whose share is its own
            root = Step.of(Move(size=block, pairs=pairs, direct=True))
            chains.append((root, *chain) if out else (*chain, root))
        return self.plan(chains, f"with {half.algorithm}")


def _half(network: Network, collective: str, size: float) -> Schedule:
    for inner in (SwitchDirect("switch-direct"), Bucket("bucket", ports="all")):
        try:
            return inner.schedule(network, collective, size)
        except NotPossible:
            continue
    return Mesh().schedule(network, collective, size)


class Tree(Algorithm):
    """Binomial: broadcast and reduce in ⌈log₂ n⌉ steps of the whole message.

    ⌈log₂ n⌉(α + S/B): Chan et al. 2007.
    """

    name = "tree"
    collectives = (BROADCAST, REDUCE, ALL_REDUCE)
    auto_ranks = 256

    def schedule(self, network: Network, collective: str, size: float) -> Schedule:
        levels = self._levels(network)
        steps = []
        if collective in (REDUCE, ALL_REDUCE):
            steps += [
                Step.of(Move(size=size, pairs=tuple((b, a) for a, b in pairs), writes=2.0))
                for pairs in reversed(levels)
            ]
        if collective in (BROADCAST, ALL_REDUCE):
            steps += [Step.of(Move(size=size, pairs=tuple(pairs))) for pairs in levels]
        return self.plan([steps])

    def _levels(self, network: Network) -> list[list[tuple[int, int]]]:
        """Edges (parent, child) by step; rank 0 is the root."""
        n = network.size
        levels, have = [], 1
        while have < n:
            levels.append([(a, a + have) for a in range(min(have, n - have))])
            have *= 2
        return levels
