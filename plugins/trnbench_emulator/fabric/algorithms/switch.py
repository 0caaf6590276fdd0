"""Direct exchange level by level: among the ranks of a server, then of a rack, then of the halves.

Behind a non-blocking switch every exchange of k ranks costs one step, α + (k−1)/k·S/B: the direct
algorithm of Thakur, Rabenseifner, Gropp (2005) once per level, with S/k left for the next one as in the
hierarchical algorithms of Chan et al. (2007).
"""

from __future__ import annotations

from trnbench.errors import counted
from trnbench.topology import NodeKind
from trnbench_emulator.fabric.algorithms.algorithm import (
    ALL_GATHER,
    ALL_REDUCE,
    REDUCE_SCATTER,
    Algorithm,
    NotPossible,
    ways,
)
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.schedule import Move, Schedule, Step
from trnbench_emulator.fabric.symmetry import Symmetry


class SwitchDirect(Algorithm):
    """`lanes`: 1 takes the innermost level first; 0 splits the buffer over every rotation of the levels."""

    collectives = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER)

    def __init__(self, name: str, *, lanes: int = 1) -> None:
        self.name, self.lanes = name, lanes

    def _levels(self, network: Network) -> tuple[Symmetry, list[tuple[int, ...]]]:
        symmetry = network.symmetry
        switched = any(node.kind in (NodeKind.SWITCH, NodeKind.NETWORK) for node in network.nodes)
        if symmetry is None or not switched:
            raise NotPossible(
                f"{self.name} needs ranks that are alike behind switches",
                cause=f"{network.topology.name} has no switches, or a link that others have not",
                try_="--algorithm bucket, ring or mesh",
            )
        order = tuple(
            axis for axis in reversed(range(len(symmetry.digits))) if symmetry.digits[axis].size > 1
        )
        rotations = [(*order[first:], *order[:first]) for first in range(len(order))]
        return symmetry, rotations[: self.lanes or None]

    def schedule(self, network: Network, collective: str, size: float) -> Schedule:
        symmetry, lanes = self._levels(network)
        reduces, gathers = ways(collective)
        chains = []
        for order in lanes:
            part, phases = size / len(lanes), []
            for axis in order:
                part /= symmetry.digits[axis].size
                phases.append((_along(symmetry, axis), part))
            chain = []
            if reduces:
                chain += [
                    Step(moves=tuple(Move(size=s, offset=o, writes=2.0, direct=True) for o in offsets))
                    for offsets, s in phases
                ]
            if gathers:
                chain += [
                    Step(moves=tuple(Move(size=s, offset=o, direct=True) for o in offsets))
                    for offsets, s in reversed(phases)
                ]
            chains.append(chain)
        return self.plan(chains, counted(len(lanes), "lane"))


def _along(symmetry: Symmetry, axis: int) -> list[tuple[int, ...]]:
    width = len(symmetry.digits)
    return [
        tuple(by if i == axis else 0 for i in range(width)) for by in range(1, symmetry.digits[axis].size)
    ]
