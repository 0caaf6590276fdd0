"""A schedule of translations on a symmetric network, as flows that stand for all their images."""

from __future__ import annotations

import numpy as np

from trnbench.errors import TopologyError
from trnbench_emulator.fabric.carrier import Carrier
from trnbench_emulator.fabric.colour_refinement import classes_of
from trnbench_emulator.fabric.equivalence import Classes, Patterns
from trnbench_emulator.fabric.flow import Flow, Together
from trnbench_emulator.fabric.fluid import Outcome
from trnbench_emulator.fabric.maxmin import Floats
from trnbench_emulator.fabric.network import ORBITS, Network
from trnbench_emulator.fabric.schedule import Chains, Move, Schedule
from trnbench_emulator.fabric.shares import Share, Shares


class Orbits(Carrier):
    """One flow per move: it stands for all its images."""

    kind = "orbits"

    def __init__(self, network: Network, schedule: Schedule) -> None:
        capacity = capacity_of(network)
        self._memory = len(capacity) - 1
        super().__init__(network, schedule, capacity, self._memory)
        self._routes = routes_of(network)
        self._shares: dict[tuple[tuple[int, ...], float], Shares]
        self._shares = network.of_capacity.setdefault(ORBITS, {})

    def shares(self, move: Move) -> Shares:
        assert move.offset is not None
        if not any(move.offset):
            raise ValueError("a move from a rank to itself")
        # Every rank sends once and receives once per translation; those of a device share its memory.
        accesses = (move.reads + move.writes) * self.network.ranks_per_device
        key = move.offset, accesses
        if key not in self._shares:
            resources, weights, latency = self._routes[move.offset]
            if np.isfinite(self.capacity[self._memory]):
                resources, weights = np.append(resources, self._memory), np.append(weights, accesses)
            self._shares[key] = Shares([(0, 0)], [(resources, weights, latency)], [0])
        return self._shares[key]

    def in_step(self, outcome: Outcome, parallel: bool) -> bool:
        """One chain of translations is in step by symmetry; several only if they end together."""
        return not parallel or len(set(outcome.arrival)) <= 1

    def alone(self, chains: Chains, before: int) -> Outcome | None:
        """Orbits are few: simulating them costs nothing."""
        return None

    def classes(self, chains: Chains) -> Classes:
        """Orbits that cannot be told apart: chains that are mirror images, or take dimensions that are alike
        in each other's place. Whoever sends in a step of a chain does so with all others.
        """
        times = [tuple(step.times for step in chain) for chain in chains]
        return classes_of(Patterns.of(self.moves(chains)), times, self.capacity, 1)

    def carried(self, chains: Chains) -> Floats:
        """Bytes over every resource, added up in the order in which all orbits would be simulated."""
        together = self.memo.all
        if together is None:
            moves = (move for chain in chains for step in chain for move in step.moves * step.times)
            together = self.memo.all = Together([flow for move in moves for flow in self.flows(move, 0)])
        return together.carried(len(self.capacity), self.scale)

    def expanded(self, chains: Chains, before: int) -> tuple[list[Flow], list[range]]:
        """The flows of all chains, and which belong to each."""
        flows: list[Flow] = []
        spans = []
        for chain in chains:
            begin = len(flows)
            earlier: tuple[int, ...] = ()
            for step in chain:
                for _ in range(step.times):
                    first = len(flows)
                    for move in step.moves:
                        flows += self.flows(move, before, earlier)
                    earlier = tuple(range(first, len(flows)))
            spans.append(range(begin, len(flows)))
        return flows, spans

    def per_link(self, carried: Floats) -> Floats:
        symmetry = self.network.symmetry
        assert symmetry is not None
        return carried[symmetry.link_orbit]

    def per_device(self, carried: Floats) -> Floats:
        return np.full(max(self.network.shared) + 1, carried[self._memory])


def capacity_of(network: Network) -> Floats:
    """Bytes/s of one member of each link orbit, then of one device's memory."""
    symmetry = network.symmetry
    assert symmetry is not None
    found = np.zeros(len(symmetry.orbit_size) + 1)
    found[symmetry.link_orbit] = network.bandwidth
    found[-1] = network.capacity[-1]
    return found


def routes_of(network: Network) -> dict[tuple[int, ...], Share]:
    """For every translation, what all its flows together take of one member of each link orbit.

    By dynamic programming from rank 0 outwards: the shares of a node are the mean of its next
    hops' shares, weighted by bandwidth, plus the hop itself. Exact, one pass over the links.
    Raises TopologyError where the ranks are not all connected.
    """
    known: dict[tuple[int, ...], Share] | None = network.memo.get("orbit routes")
    if known is not None:
        return known
    symmetry = network.symmetry
    assert symmetry is not None
    distance = network.ways.distances(network.ranks[0])
    crossings = np.zeros((len(network.nodes), len(symmetry.orbit_size)))
    late = [0] * len(network.nodes)
    bandwidth, orbit = network.bandwidth.tolist(), symmetry.link_orbit.tolist()
    for node in sorted((n for n in range(len(network.nodes)) if distance[n] > 0), key=distance.__getitem__):
        nexts, total = network.ways.nexts(node, distance)
        row = crossings[node]
        for i in nexts:
            part = bandwidth[i] / total
            there = network.links[i].dst
            row += part * crossings[there]
            row[orbit[i]] += part
            late[node] = max(late[node], late[there] + network.latency[i])
    if any(distance[node] < 0 for node in network.ranks):
        raise TopologyError(
            f"{network.topology.name}: the ranks are not all connected",
            cause="the links left after --degrade or the chosen link kinds do not connect them",
            try_="trnbench topology check " + network.topology.name,
        )
    shares = crossings[network.ranks] * (network.size / symmetry.orbit_size)
    row_of, used = np.nonzero(shares)
    weights = shares[row_of, used]
    ends = np.searchsorted(row_of, np.arange(len(network.ranks) + 1)).tolist()
    routes = {
        symmetry.offset(rank, 0): (used[begin:end], weights[begin:end], late[node])
        for rank, (node, begin, end) in enumerate(zip(network.ranks, ends, ends[1:], strict=False))
    }
    network.memo["orbit routes"] = routes
    return routes
