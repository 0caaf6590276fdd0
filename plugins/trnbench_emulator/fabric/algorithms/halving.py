"""Recursive halving and doubling: partners at doubling distance, RDH in the Neuron documents.

2·log₂(n)·α + 2(n−1)/n·S/B for an all-reduce on a switch: Thakur, Rabenseifner, Gropp, "Optimization
of collective communication operations in MPICH", Int. J. High Perf. Comput. Appl. 19 (2005).
"""

from __future__ import annotations

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


class HalvingDoubling(Algorithm):
    """Ranks are numbered by a Gray code along each torus dimension, so that on rings of 4 every
    exchange is with a neighbour: the four axes of the hypercube that a 4×4 torus is. The innermost
    coordinate comes first: the large halves stay inside a device, a server, a rack.
    """

    name = "rdh"
    collectives = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER)

    def schedule(self, network: Network, collective: str, size: float) -> Schedule:
        n = network.size
        if n & (n - 1):
            raise NotPossible(
                f"{self.name} needs a power of two of ranks, not {n}",
                cause="partners are found by flipping one bit of the rank",
                try_="--algorithm ring or mesh, or another group size",
            )
        place = self._gray(network)
        rank_at = {at: rank for rank, at in enumerate(place)}
        bits = n.bit_length() - 1
        reduces, gathers = ways(collective)
        halving = []
        for bit in range(bits):
            pairs = tuple((r, rank_at[place[r] ^ (1 << bit)]) for r in range(n))
            halving.append((pairs, size / 2 ** (bit + 1)))
        steps = [Step.of(Move(size=s, pairs=p, writes=2.0)) for p, s in halving] if reduces else []
        steps += [Step.of(Move(size=s, pairs=p)) for p, s in reversed(halving)] if gathers else []
        return self.plan([steps])

    @staticmethod
    def _gray(network: Network) -> list[int]:
        symmetry = network.symmetry
        if symmetry is None or any(digit.size & (digit.size - 1) for digit in symmetry.digits):
            return list(range(network.size))
        place = []
        for coord in symmetry.coords:
            p = 0
            for digit, c in zip(symmetry.digits, coord, strict=True):
                p = (p << (digit.size.bit_length() - 1)) | (c if digit.xor else c ^ (c >> 1))
            place.append(p)
        return place
