"""Permute: every rank passes its message to the next along a Hamiltonian cycle, all at once.

α + S/B where neighbours of the cycle have a link each.
"""

from __future__ import annotations

from collections.abc import Iterator

from trnbench_emulator.fabric.algorithms.algorithm import PERMUTE, Algorithm, Transfer, too_few
from trnbench_emulator.fabric.cycles import directed_cycles
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.schedule import Move, Schedule, Step


class Shift(Algorithm):
    name = "shift"
    collectives = (PERMUTE,)

    def schedule(self, network: Network, collective: str, size: float) -> Schedule:
        step = Step(moves=(Move(size=size, pairs=self._pairs(network)),))
        return Schedule(algorithm=self.name, chains=((step,),))

    def transfers(self, network: Network, collective: str) -> Iterator[list[Transfer]]:
        """Block r is rank r's message."""
        yield [Transfer(src, dst, (src,)) for src, dst in self._pairs(network)]

    @staticmethod
    def _pairs(network: Network) -> tuple[tuple[int, int], ...]:
        if network.size < 2:
            raise too_few(network)
        cycle = directed_cycles(network, 1, 1)[0]
        return tuple(zip(cycle, (*cycle[1:], cycle[0]), strict=True))
