"""A schedule of translations on a symmetric network, as flows that stand for all their images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trnbench.emulator.fabric.classes import Classes
from trnbench.emulator.fabric.fluid import Flow, Outcome, Rates, simulate
from trnbench.emulator.fabric.known import Known
from trnbench.emulator.fabric.maxmin import Floats
from trnbench.emulator.fabric.network import ORBITS, Network, Route
from trnbench.emulator.fabric.schedule import Move, Schedule, Step


class Orbits:
    """One flow per move: it stands for all its images."""

    def __init__(self, network: Network, schedule: Schedule) -> None:
        self.network, self.scale = network, schedule.scale
        self.known = Known()  # orbits are few
        self.capacity = network.orbit_capacity
        self._memory = len(self.capacity) - 1
        # Orbits are few, and their mixes made anew: these rates are kept for nothing else.
        self.rates = Rates(self.capacity, np.arange(len(self.capacity)) == self._memory)
        self._with_memory: dict[tuple[tuple[int, ...], float], Route]
        self._with_memory = network.memo.setdefault(ORBITS, {})

    def step(self, place: int, step: Step, before: int) -> Outcome:
        """One repetition of a step, all ranks beginning at once."""
        return simulate([self._flow(move, before, ()) for move in step.moves], self.capacity, self.rates)

    def _flow(self, move: Move, before: int, after: tuple[int, ...]) -> Flow:
        assert move.offset is not None
        route = self._route(move)
        size = move.size * self.scale
        return Flow(size, route.resources, route.weights, route.latency, before, after)

    def latest(self, step: Step) -> int:
        """Ticks of the longest way in a step."""
        return max((self._route(move).latency for move in step.moves), default=0)

    def _route(self, move: Move) -> Route:
        assert move.offset is not None
        if not any(move.offset):
            raise ValueError("a move from a rank to itself")
        route = self.network.orbit_routes[move.offset]
        if np.isinf(self.capacity[self._memory]):
            return route
        # Every rank sends once and receives once per translation; those of a device share its memory.
        accesses = (move.reads + move.writes) * self.network.ranks_per_device
        found = self._with_memory.get((move.offset, accesses))
        if found is None:
            found = self._with_memory[move.offset, accesses] = Route(
                np.append(route.resources, self._memory),
                np.append(route.weights, accesses),
                route.latency,
                route.hops,
            )
        return found

    def in_step(self, outcome: Outcome, parallel: bool) -> bool:
        """One chain of translations is in step by symmetry; several only if they end together."""
        return not parallel or len(set(outcome.arrival)) <= 1

    def alone(self, chains: Sequence[tuple[Step, ...]], before: int) -> Outcome | None:
        """Orbits are few: simulating them costs nothing."""
        return None

    def classes(self, chains: Sequence[tuple[Step, ...]]) -> Classes | None:
        """An orbit is a class already."""
        return None

    def effort(self, chains: Sequence[tuple[Step, ...]]) -> int:
        return sum(len(step.moves) ** 2 * step.times for chain in chains for step in chain)

    def expanded(self, chains: Sequence[tuple[Step, ...]], before: int) -> tuple[list[Flow], list[range]]:
        """The flows of all chains, and which belong to each."""
        flows: list[Flow] = []
        spans = []
        for chain in chains:
            begin = len(flows)
            earlier: tuple[int, ...] = ()
            for step in chain:
                for _ in range(step.times):
                    first = len(flows)
                    flows += [self._flow(move, before, earlier) for move in step.moves]
                    earlier = tuple(range(first, len(flows)))
            spans.append(range(begin, len(flows)))
        return flows, spans

    def per_link(self, carried: Floats) -> Floats:
        symmetry = self.network.symmetry
        assert symmetry is not None
        return carried[symmetry.link_orbit]

    def per_device(self, carried: Floats) -> Floats:
        return np.full(max(self.network.shared) + 1, carried[self._memory])
