"""The time a schedule takes on a network: by symmetry where there is one, flow by flow where not.

Both ways give the same answer to the tick. Four shortcuts, each exact under a condition that is
checked, never assumed:

- by orbits: every move is a translation of a symmetric network, so one flow stands for all;
- in step: all moves of a step arrive at one tick, so every rank begins the next step together and a
  repeated step costs the same again;
- merged: chains of equal shape whose moves arrive together are one chain;
- apart: flows that never compete for a link are not simulated, only awaited (`apart`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import msgspec
import numpy as np

from trnbench.emulator.fabric.apart import Round, Sending, apart
from trnbench.emulator.fabric.fluid import TICKS_PER_SECOND, Flow, Outcome, Rates, simulate, ticks
from trnbench.emulator.fabric.maxmin import Floats, Indices
from trnbench.emulator.fabric.network import RATES, Network, Route
from trnbench.emulator.fabric.schedule import Move, Schedule, Step


class Solution(msgspec.Struct, frozen=True, kw_only=True):
    """`time_s`; `carried` bytes per link of the network (index of `Network.links`);
    `accessed` bytes of every device's memory; `latency_s`: the part that is latency and overhead, were
    every link infinitely wide.
    `way`: "orbits" or "flows", and the shortcut taken.
    """

    time_s: float
    total_ticks: int
    carried: Floats
    accessed: Floats
    latency_s: float
    way: str


def solve(network: Network, schedule: Schedule, *, use_symmetry: bool = True, most: int = 0) -> Solution:
    """Above `most` flows (0: any number) ranks are taken to wait for each other after every step, which
    is never quicker; `way` then says so. Raises TopologyError (no route) and ValueError (a move names a
    rank that is not there).
    """
    moves = [move for chain in schedule.chains for step in chain for move in step.moves]
    by_orbit = (
        use_symmetry
        and network.symmetry is not None
        and all(move.offset is not None and move.copies == 1 for move in moves)
        and network.size > 1
        and (network.ranks_per_device > 0 or not network.has_memory)
    )
    carrier: _Orbits | _Pairs = _Orbits(network) if by_orbit else _Pairs(network)
    before = ticks(schedule.per_message_s)
    total, carried, latency, shortcut = _run(carrier, schedule.chains, before, schedule.lockstep, most)
    start = ticks(schedule.startup_s)
    return Solution(
        time_s=(total + start) / TICKS_PER_SECOND,
        total_ticks=total + start,
        carried=carrier.per_link(carried),
        accessed=carrier.per_device(carried),
        latency_s=(latency + start) / TICKS_PER_SECOND,
        way=("orbits" if by_orbit else "flows") + shortcut,
    )


def _run(
    carrier: _Orbits | _Pairs, chains: Sequence[tuple[Step, ...]], before: int, lockstep: bool, most: int
) -> tuple[int, Floats, int, str]:
    chain = _merged(chains)
    if chain is not None:
        total, latency = 0, 0
        carried = np.zeros(len(carrier.capacity))
        for step in chain:
            flows = carrier.flows(step.moves, before)
            outcome = simulate(flows, carrier.capacity, carrier.rates)
            if not lockstep and not carrier.in_step(outcome, len(chains) > 1):
                break
            total += outcome.total * step.times
            carried += outcome.carried * step.times
            latency += max((f.latency for f in flows), default=0) * step.times + before * step.times
        else:
            return total, carried, latency, ", in lockstep" if lockstep else ", each step once"
    known, shortcut = carrier.alone(chains, before), ", never competing"
    if known is None and most and chain is not None and not lockstep and carrier.count(chains) > most:
        return _run(carrier, (chain,), before, True, most)
    if known is None:
        known, shortcut = simulate(carrier.expanded(chains, before), carrier.capacity, carrier.rates), ""
    latency = max(
        (sum((_latest(carrier, step) + before) * step.times for step in chain) for chain in chains), default=0
    )
    return known.total, known.carried, latency, shortcut


def _latest(carrier: _Orbits | _Pairs, step: Step) -> int:
    return max((flow.latency for flow in carrier.flows(step.moves, 0)), default=0)


def _merged(chains: Sequence[tuple[Step, ...]]) -> tuple[Step, ...] | None:
    """Chains of equal shape side by side as one, else None."""
    if len(chains) == 1:
        return chains[0]
    if len({tuple(step.times for step in chain) for chain in chains}) != 1:
        return None
    return tuple(
        Step(moves=tuple(move for step in steps for move in step.moves), times=steps[0].times)
        for steps in zip_longest(*chains)
    )


class _Orbits:
    """One flow per move: it stands for all its images."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.capacity = network.orbit_capacity
        self.rates: Rates | None = None  # orbits are few, and their mixes made anew
        self._memory = len(self.capacity) - 1

    def flows(self, moves: Sequence[Move], before: int) -> list[Flow]:
        return [self._flow(move, before, ()) for move in moves]

    def _flow(self, move: Move, before: int, after: tuple[int, ...]) -> Flow:
        assert move.offset is not None
        route = self._route(move)
        return Flow(move.size, route.resources, route.weights, route.latency, before, after)

    def _route(self, move: Move) -> Route:
        assert move.offset is not None
        if not any(move.offset):
            raise ValueError("a move from a rank to itself")
        route = self.network.orbit_routes[move.offset]
        if np.isinf(self.capacity[self._memory]):
            return route
        # Every rank sends once and receives once per translation; those of a device share its memory.
        accesses = (move.reads + move.writes) * self.network.ranks_per_device
        return Route(
            np.append(route.resources, self._memory),
            np.append(route.weights, accesses),
            route.latency,
            route.hops,
        )

    def in_step(self, outcome: Outcome, parallel: bool) -> bool:
        """One chain of translations is in step by symmetry; several only if they end together."""
        return not parallel or len(set(outcome.arrival)) <= 1

    def alone(self, chains: Sequence[tuple[Step, ...]], before: int) -> Outcome | None:
        """Orbits are few: simulating them costs nothing."""
        return None

    def count(self, chains: Sequence[tuple[Step, ...]]) -> int:
        return sum(len(step.moves) * step.times for chain in chains for step in chain)

    def expanded(self, chains: Sequence[tuple[Step, ...]], before: int) -> list[Flow]:
        flows: list[Flow] = []
        for chain in chains:
            earlier: tuple[int, ...] = ()
            for step in chain:
                for _ in range(step.times):
                    first = len(flows)
                    flows += [self._flow(move, before, earlier) for move in step.moves]
                    earlier = tuple(range(first, len(flows)))
        return flows

    def per_link(self, carried: Floats) -> Floats:
        symmetry = self.network.symmetry
        assert symmetry is not None
        return carried[symmetry.link_orbit]

    def per_device(self, carried: Floats) -> Floats:
        return np.full(max(self.network.shared) + 1, carried[self._memory])


class _Pairs:
    """One flow per sender and receiver."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.capacity = network.capacity
        self._memory = network.has_memory
        # The same for every message on this network: kept with it.
        self._shares: dict[tuple[int, int, float, float, int], tuple[Indices, Floats, int]]
        self._shares = network.memo.setdefault("shares", {})
        self._moves: dict[object, list[tuple[Indices, Floats, int]]] = network.memo.setdefault("moves", {})
        self.rates: Rates = network.memo.setdefault(RATES, Rates(network.capacity))

    def pairs(self, move: Move) -> Sequence[tuple[int, int]]:
        if move.offset is None:
            return move.pairs
        return self.network.pairs(move.offset)

    def _share(self, src: int, dst: int, move: Move) -> tuple[Indices, Floats, int]:
        key = (src, dst, move.reads, move.writes, move.copies)
        found = self._shares.get(key)
        if found is None:
            if src == dst:
                raise ValueError("a move from a rank to itself")
            route = self.network.route(src, dst)
            resources, weights = route.resources, route.weights
            if self._memory:
                first, device = len(self.network.links), self.network.shared
                accesses = {first + device[src]: move.reads}
                accesses[first + device[dst]] = accesses.get(first + device[dst], 0.0) + move.writes
                used = [resource for resource, times in accesses.items() if times > 0]
                resources = np.append(resources, np.array(used, dtype=np.intp))
                weights = np.append(weights, [accesses[resource] for resource in used])
            if move.copies != 1:
                weights = weights * move.copies
            found = self._shares[key] = (resources, weights, route.latency)
        return found

    def _shares_of(self, move: Move) -> list[tuple[Indices, Floats, int]]:
        """One share per pair of the move, whatever its size."""
        key = (move.offset, move.pairs, move.reads, move.writes, move.copies)
        found: list[tuple[Indices, Floats, int]] | None = self._moves.get(key)
        if found is None:
            found = self._moves[key] = [self._share(src, dst, move) for src, dst in self.pairs(move)]
        return found

    def flows(self, moves: Sequence[Move], before: int) -> list[Flow]:
        return [
            Flow(move.size, resources, weights, latency, before)
            for move in moves
            for resources, weights, latency in self._shares_of(move)
        ]

    def in_step(self, outcome: Outcome, parallel: bool) -> bool:
        return len(set(outcome.arrival)) <= 1

    def alone(self, chains: Sequence[tuple[Step, ...]], before: int) -> Outcome | None:
        rounds = [
            [
                Round(
                    tuple(
                        Sending(src, dst, move.size, *self._share(src, dst, move))
                        for move in step.moves
                        for src, dst in self.pairs(move)
                    ),
                    step.times,
                )
                for step in chain
            ]
            for chain in chains
        ]
        return apart(rounds, self.capacity, self.network.size, before)

    def count(self, chains: Sequence[tuple[Step, ...]]) -> int:
        return sum(
            step.times * sum(len(self.pairs(move)) for move in step.moves)
            for chain in chains
            for step in chain
        )

    def expanded(self, chains: Sequence[tuple[Step, ...]], before: int) -> list[Flow]:
        flows: list[Flow] = []
        for chain in chains:
            touched: dict[int, list[int]] = {}  # rank → flows of its last step it took part in
            for step in chain:
                pairs = [(move, src, dst) for move in step.moves for src, dst in self.pairs(move)]
                for _ in range(step.times):
                    now: dict[int, list[int]] = {}
                    for move, src, dst in pairs:
                        after = sorted({*touched.get(src, ()), *touched.get(dst, ())})
                        index = len(flows)
                        resources, weights, latency = self._share(src, dst, move)
                        flows.append(Flow(move.size, resources, weights, latency, before, tuple(after)))
                        now.setdefault(src, []).append(index)
                        now.setdefault(dst, []).append(index)
                    touched.update(now)
        return flows

    def per_link(self, carried: Floats) -> Floats:
        return carried[: len(self.network.links)]

    def per_device(self, carried: Floats) -> Floats:
        return carried[len(self.network.links) :]
