"""Binomial tree: broadcast and reduce in ⌈log₂ n⌉ steps of the whole message.

⌈log₂ n⌉(α + S/B): Chan et al. 2007.
"""

from __future__ import annotations

from collections.abc import Iterator

from trnbench_emulator.fabric.algorithms.algorithm import (
    ALL_REDUCE,
    BROADCAST,
    REDUCE,
    Algorithm,
    Transfer,
    too_few,
)
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.schedule import Move, Schedule, Step


class Tree(Algorithm):
    name = "tree"
    collectives = (BROADCAST, REDUCE, ALL_REDUCE)
    auto_ranks = 256

    def schedule(self, network: Network, collective: str, size: float) -> Schedule:
        levels = self._levels(network)
        steps = []
        if collective in (REDUCE, ALL_REDUCE):
            steps += [
                Step(moves=(Move(size=size, pairs=tuple((b, a) for a, b in pairs), writes=2.0),))
                for pairs in reversed(levels)
            ]
        if collective in (BROADCAST, ALL_REDUCE):
            steps += [Step(moves=(Move(size=size, pairs=tuple(pairs)),)) for pairs in levels]
        return Schedule(algorithm=self.name, chains=(tuple(steps),))

    def transfers(self, network: Network, collective: str) -> Iterator[list[Transfer]]:
        levels = self._levels(network)
        whole = tuple(range(network.size))
        if collective in (REDUCE, ALL_REDUCE):
            for pairs in reversed(levels):
                yield [Transfer(b, a, whole, True) for a, b in pairs]
        if collective in (BROADCAST, ALL_REDUCE):
            for pairs in levels:
                yield [Transfer(a, b, whole) for a, b in pairs]

    def _levels(self, network: Network) -> list[list[tuple[int, int]]]:
        """Edges (parent, child) by step; rank 0 is the root."""
        n = network.size
        if n < 2:
            raise too_few(network)
        levels, have = [], 1
        while have < n:
            levels.append([(a, a + have) for a in range(min(have, n - have))])
            have *= 2
        return levels
