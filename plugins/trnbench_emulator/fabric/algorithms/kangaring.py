"""Kangaring: a ring of pairs. One rank of each pair talks to the outside, the other only to it.

Half the hops of a ring, and fewer accesses of device memory: for two ranks 3 instead of 4 to gather
(what arrives is read once, for the next device and for the neighbour), 4 instead of 6 to reduce (three
operands are read and one sum is written). Counts and O(N/2): the Neuron guide to collectives inside a
node. The guide does not print the schedule; this one has its counts.
"""

from __future__ import annotations

from trnbench.errors import counted
from trnbench_emulator.fabric.algorithms.algorithm import (
    ALL_GATHER,
    ALL_REDUCE,
    REDUCE_SCATTER,
    Algorithm,
    NotPossible,
    ways,
)
from trnbench_emulator.fabric.cycles import cycle_shares, device_cycles, hops
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.schedule import Move, Schedule, Step

Lane = tuple[tuple[int, int], ...]
"""Pairs (primary, secondary) in the order of the walk."""


class Kangaring(Algorithm):
    """Runs on every directed Hamiltonian cycle of the devices at once, a share of the buffer on each."""

    name = "kangaring"
    collectives = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER)

    def schedule(self, network: Network, collective: str, size: float) -> Schedule:
        lanes = self._lanes(network)
        n, times = network.size, network.size // 2 - 1
        shares = cycle_shares(network, [[first for first, _ in lane] for lane in lanes])
        reduces, gathers = ways(collective)
        chains = []
        for lane, share in zip(lanes, shares, strict=True):
            block = size * share / n
            out = hops([first for first, _ in lane])
            up = tuple((second, first) for first, second in lane)
            down = tuple((first, second) for first, second in lane)
            chain = []
            if reduces:
                # The secondary's operand is read where it lies; no copy of it is written.
                chain.append(Step.of(Move(size=block, pairs=up, writes=0.0)))
                if times:
                    chain.append(
                        Step.of(
                            Move(size=2 * block, pairs=out, reads=2.0),
                            Move(size=2 * block, pairs=up, writes=0.0),
                            times=times,
                        )
                    )
                # The own block's other half of the last sum; the secondary takes its result over.
                chain.append(Step.of(Move(size=block, pairs=down, reads=2.0)))
            if gathers:
                chain.append(Step.of(Move(size=block, pairs=up), Move(size=block, pairs=down, reads=0.0)))
                if times:
                    # What arrives is written to both ranks of the pair by one read of the sender's.
                    chain.append(
                        Step.of(
                            Move(size=2 * block, pairs=out),
                            Move(size=2 * block, pairs=down, reads=0.0),
                            times=times,
                        )
                    )
            chains.append(chain)
        return self.plan(chains, counted(len(lanes), "directed cycle"))

    def _lanes(self, network: Network) -> list[Lane]:
        ranks = network.ranks_per_device
        if ranks < 2 or ranks % 2:
            each = counted(ranks, "rank") if ranks else "different numbers of ranks"
            raise NotPossible(
                f"{self.name} needs pairs of ranks that share a device",
                cause=f"{network.topology.name} has {each} per device here",
                try_="--ranks core or logical-core, or --algorithm ring",
            )
        if max(network.shared) == 0:
            raise NotPossible(
                f"{self.name} joins devices, and all {network.size} ranks are on one",
                cause="ranks of one device share its memory: there is no link to use",
                try_="--algorithm ring, rdh or mesh",
            )
        # The pairs of every device in turn; every other lane exchanges the two roles.
        return [
            tuple(
                (network.ranks_on[device][i + turn % 2], network.ranks_on[device][i + 1 - turn % 2])
                for device in cycle
                for i in range(0, ranks, 2)
            )
            for turn, cycle in enumerate(device_cycles(network))
        ]
