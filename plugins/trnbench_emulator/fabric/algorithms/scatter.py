"""Large broadcasts: scatter from the root, then all-gather; large reductions the other way round.

(n−1)/n·S/B twice instead of S/B per level of a tree: van de Geijn's algorithm, Chan et al. 2007.
"""

from __future__ import annotations

from collections.abc import Iterator

from trnbench_emulator.fabric.algorithms.algorithm import (
    ALL_GATHER,
    BROADCAST,
    REDUCE,
    REDUCE_SCATTER,
    Algorithm,
    NotPossible,
    Transfer,
    too_few,
)
from trnbench_emulator.fabric.algorithms.bucket import Bucket
from trnbench_emulator.fabric.algorithms.direct import Mesh
from trnbench_emulator.fabric.algorithms.switch import SwitchDirect
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.schedule import Move, Schedule, Step


class ScatterGather(Algorithm):
    """The gathering half is the bucket algorithm on a torus, direct level by level behind switches."""

    name = "scatter-gather"
    collectives = (BROADCAST, REDUCE)
    _halves: tuple[Algorithm, ...] = (SwitchDirect("switch-direct"), Bucket("bucket", ports="all"), Mesh())

    def schedule(self, network: Network, collective: str, size: float) -> Schedule:
        inner = self._inner(network)
        n = network.size
        out = collective == BROADCAST
        half = inner.schedule(network, ALL_GATHER if out else REDUCE_SCATTER, size)
        pairs = tuple((0, r) if out else (r, 0) for r in range(1, n))
        first = Step(moves=(Move(size=size / n / len(half.chains), pairs=pairs, direct=True),))
        chains = tuple((first, *chain) if out else (*chain, first) for chain in half.chains)
        return Schedule(algorithm=self.name, chains=chains, note=f"with {inner.name}")

    def transfers(self, network: Network, collective: str) -> Iterator[list[Transfer]]:
        inner = self._inner(network)
        n = network.size
        gather = list(inner.transfers(network, ALL_GATHER))
        lanes = 1 + max(b for step in gather for t in step for b in t.blocks) // n
        parts = {r: tuple(lane * n + r for lane in range(lanes)) for r in range(1, n)}
        if collective == BROADCAST:
            yield [Transfer(0, r, blocks) for r, blocks in parts.items()]
            yield from gather
        else:
            yield from inner.transfers(network, REDUCE_SCATTER)
            yield [Transfer(r, 0, blocks) for r, blocks in parts.items()]

    def _inner(self, network: Network) -> Algorithm:
        for each in self._halves:
            try:
                each.schedule(network, ALL_GATHER, 1.0)
            except NotPossible:
                continue
            return each
        raise too_few(network)
