"""Collectives over any number of instances, on the links of a few.

All instances of a cluster are alike and hang on one network that blocks nothing. In every step below an
instance sends to one partner, or the same to each of the others, and receives as much: its own links
see the same load whoever the partners are. So two instances stand for all, and the answer is the one
of the whole graph (tests hold the two together where both can be built).

Where an instance has a slow link or a straggler, few instances are carried out as they are. Of many, it
stands for itself and one of the others beside it for its partners; all others are then taken to wait as
that partner does, and in a tree the slow one to be the root. On 3 to 8 instances that comes to 0 to 8 %
less than the whole: in truth its neighbours pass some of the disorder on.
"""

from __future__ import annotations

from trnbench_emulator.fabric.algorithms.algorithm import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    PERMUTE,
    REDUCE,
    REDUCE_SCATTER,
    OverInstances,
    ways,
)
from trnbench_emulator.fabric.cycles import directed_cycles, hops
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.schedule import Move, Schedule, Step


class FlatRings(OverInstances):
    """One ring through all ranks of all instances, several of them side by side.

    Each enters and leaves an instance elsewhere, so that together they use all its adapters.
    """

    name = "ring"
    collectives = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER)
    pipelined = True

    def over_instances(self, network: Network, collective: str, size: float, instances: int) -> Schedule:
        walks = _walks(network)
        n = len(_parts(network)[0]) * instances
        part = size / len(walks)
        reduces, gathers = ways(collective)
        pairs = [hops(walk) for walk in walks]
        steps = []
        if reduces:
            steps.append(
                Step(moves=tuple(Move(size=part / n, pairs=p, reads=2.0) for p in pairs), times=n - 1)
            )
        if gathers:
            steps.append(Step(moves=tuple(Move(size=part / n, pairs=p) for p in pairs), times=n - 1))
        return self.plan([steps], f"{len(walks)} flat rings")


class InstanceTree(OverInstances):
    """Scatter among the root's devices, a binomial tree of instances for each part, gather inside."""

    name = "hierarchical-tree"
    collectives = (BROADCAST, REDUCE)

    def over_instances(self, network: Network, collective: str, size: float, instances: int) -> Schedule:
        parts = _parts(network)
        g = len(parts[0])
        rounds = (instances - 1).bit_length()
        pairs = [
            tuple(pair for a, b in each for pair in zip(parts[a], parts[b], strict=True))
            for each in _rounds(len(parts), instances)
        ]
        times = rounds // len(pairs)
        roots = parts[:1] if len(parts) == instances else parts[::2]
        away = tuple((root[0], r) for root in roots for r in root[1:])
        everyone = tuple((a, b) for part in parts for a in part for b in part if a != b)
        part = size / g
        if collective == REDUCE:  # the same backwards, and what is received is added
            pairs = [tuple((b, a) for a, b in pair) for pair in reversed(pairs)]
            away = tuple((b, a) for a, b in away)
        added = 2.0 if collective == REDUCE else 1.0
        chain = [Step.of(Move(size=part, pairs=pair, writes=added), times=times) for pair in pairs]
        if g > 1:
            ends = [Step.of(Move(size=part, pairs=away, direct=True))]
            ends.append(Step.of(Move(size=part, pairs=everyone, writes=added, direct=True)))
            first, last = ends[::-1] if collective == REDUCE else ends
            chain = [first, *chain, last]
        return self.plan([chain], lockstep=True)


class InstanceDirect(OverInstances):
    """All pairs at once; the other instances are alike, so their flows are counted, not repeated."""

    name = "direct"
    collectives = (ALL_TO_ALL,)

    def over_instances(self, network: Network, collective: str, size: float, instances: int) -> Schedule:
        parts = _parts(network)
        part = size / (len(parts[0]) * instances)
        inside = tuple((a, b) for here in parts for a in here for b in here if a != b)
        across = tuple(
            (a, b) for here in parts for there in parts if here != there for a in here for b in there
        )
        moves = [Move(size=part, pairs=across, copies=(instances - 1) / (len(parts) - 1), direct=True)]
        if inside:
            moves.append(Move(size=part, pairs=inside, direct=True))
        return self.plan([[Step(moves=tuple(moves))]], lockstep=True)


class InstanceShift(OverInstances):
    """Permute: each rank to the next one."""

    name = "shift"
    collectives = (PERMUTE,)

    def over_instances(self, network: Network, collective: str, size: float, instances: int) -> Schedule:
        step = Step.of(Move(size=size, pairs=hops(range(network.size))))
        return self.plan([[step]])


def _parts(network: Network) -> list[range]:
    """Ranks of every instance; instances of a cluster are hosts."""
    count = len({network.nodes[node].host for node in network.ranks})
    each = network.size // count
    return [range(first, first + each) for first in range(0, network.size, each)]


def _walks(network: Network) -> list[list[int]]:
    parts = _parts(network)
    first = parts[0]
    cycles = directed_cycles(network.part(first), 2, 0)
    per_device = network.size // (max(network.shared) + 1) or 1
    devices = len(first) // per_device
    walks = []
    turns = max(devices // len(cycles), 1)
    for number, cycle in enumerate(cycles):
        for turn in range(turns):
            # Breaking the cycle elsewhere moves the entry and the exit to other devices.
            cut = (turn * len(cycles) + number) * per_device % len(cycle)
            order = [*cycle[cut:], *cycle[:cut]]
            walks.append([part[r] for part in parts for r in order])
    return walks


def _rounds(parts: int, instances: int) -> list[list[tuple[int, int]]]:
    """Who passes to whom in the rounds of a binomial tree; one for all where a few parts stand for many."""
    if parts != instances:
        return [[(a, a + 1) for a in range(0, parts, 2)]]
    distances = [1 << k for k in range((instances - 1).bit_length())]
    return [[(a, a + d) for a in range(d) if a + d < instances] for d in distances]
