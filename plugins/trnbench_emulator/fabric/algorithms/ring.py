"""Ring: every rank passes to the next; several edge-disjoint cycles share the work. A permute is one step.

Behind switches of several levels the cycles are walks that favour one level each (`levels`), with uneven
shares. Cost 2(n−1)(α + S/(n·B)) for an all-reduce on one cycle, S/(c·n·B) on c cycles: Patarasuk and Yuan,
"Bandwidth optimal all-reduce algorithms for clusters of workstations", J. Parallel Distrib. Comput.
69 (2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from trnbench.errors import counted
from trnbench_emulator.fabric.algorithms.algorithm import (
    ALL_GATHER,
    ALL_REDUCE,
    BROADCAST,
    PERMUTE,
    REDUCE,
    REDUCE_SCATTER,
    Algorithm,
    ways,
)
from trnbench_emulator.fabric.cycles import cycle_shares, directed_cycles, hops, level_cycles
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.schedule import Move, Schedule, Step


class Ring(Algorithm):
    """`directions` 1 or 2; `cycles` how many edge-disjoint Hamiltonian cycles at most (0: all)."""

    collectives = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE)
    auto_ranks = 256

    def __init__(self, name: str = "ring", *, directions: int = 2, cycles: int = 0) -> None:
        self.name, self.directions, self.cycles = name, directions, cycles
        self.auto = not cycles

    def _lanes(self, network: Network) -> Sequence[tuple[Sequence[int], float]]:
        """Cycles, each with its share of the buffer."""
        if not self.cycles and (across := level_cycles(network)):
            return across
        cycles = directed_cycles(network, self.directions, self.cycles)
        return list(zip(cycles, cycle_shares(network, cycles), strict=True))

    def schedule(self, network: Network, collective: str, size: float) -> Schedule:
        lanes = self._lanes(network)
        n = network.size
        reduces, gathers = ways(collective)
        reads = 2.0 if collective == REDUCE else 1.0
        chains = []
        for cycle, share in lanes:
            chain, part = [], size * share
            if reduces:  # the partial sum and the own operand are read, the sum is written downstream
                chain.append(Step.of(_along(network, cycle, part / n, 2.0), times=n - 1))
            if gathers:
                chain.append(Step.of(_along(network, cycle, part / n, 1.0), times=n - 1))
            if collective in (BROADCAST, REDUCE):  # blocks follow each other along the open chain
                root = cycle.index(0) + (collective == REDUCE)
                way = tuple(pairwise((*cycle[root:], *cycle[:root])))
                chain += [
                    Step.of(Move(size=part / n, pairs=way[max(step - n + 1, 0) : step + 1], reads=reads))
                    for step in range(2 * n - 2)
                ]
            chains.append(chain)
        return self.plan(chains, counted(len(lanes), "directed cycle"))


def _along(network: Network, cycle: Sequence[int], size: float, reads: float) -> Move:
    """One step along the cycle: a translation where the cycle is one, pairs otherwise."""
    pairs = hops(cycle)
    if network.symmetry is not None:
        offsets = {network.symmetry.offset(*pair) for pair in pairs}
        if len(offsets) == 1:
            return Move(size=size, offset=offsets.pop(), reads=reads)
    return Move(size=size, pairs=pairs, reads=reads)


class Shift(Algorithm):
    """Permute: every rank passes its message to the next along a Hamiltonian cycle, all at once.

    α + S/B where neighbours of the cycle have a link each.
    """

    name = "shift"
    collectives = (PERMUTE,)

    def schedule(self, network: Network, collective: str, size: float) -> Schedule:
        step = Step.of(Move(size=size, pairs=hops(directed_cycles(network, 1, 1)[0])))
        return self.plan([[step]])
