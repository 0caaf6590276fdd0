"""A schedule as one flow per sender and receiver, or per class of them."""

from __future__ import annotations

import numpy as np

from trnbench_emulator.fabric.colour_refinement import MOST_PATTERNS, classes_of
from trnbench_emulator.fabric.contention_free import Round, contention_free
from trnbench_emulator.fabric.equivalence import Classes, Patterns, kept_classes, memo_of, step_memo
from trnbench_emulator.fabric.flow import Flow, Together, timing
from trnbench_emulator.fabric.fluid import Outcome, simulate
from trnbench_emulator.fabric.maxmin import Floats
from trnbench_emulator.fabric.network import RATES, Network
from trnbench_emulator.fabric.rates import Rates
from trnbench_emulator.fabric.schedule import Chains, Move, Schedule, Step
from trnbench_emulator.fabric.shares import Shares, shares_of
from trnbench_emulator.fabric.steady_state import of_each_class

MANY = 256
"""Flows of one step from which classes are looked for before it is simulated."""


class ExplicitFlows:
    """One flow per sender and receiver."""

    def __init__(self, network: Network, schedule: Schedule) -> None:
        self.network, self.schedule, self.scale = network, schedule, schedule.scale
        self.memo = memo_of(network, schedule, "flows")
        self.capacity = network.capacity
        self._table = shares_of(network)
        self.rates: Rates = network.of_capacity.setdefault(
            RATES, Rates(network.capacity, np.arange(len(network.capacity)) >= len(network.links))
        )

    def step(self, step: Step, before: int) -> Outcome:
        """One repetition of a step, all ranks beginning at once; `arrival` by flows, or by their classes."""
        memo = step_memo(self.network, self.schedule, self.memo, step, "flows")
        if sum(len(self.network.pairs_of(move)) for move in step.moves) < MANY:
            if before not in memo.flows:
                flows = [
                    Flow(move.size, resources, weights, *timing(move.direct, latency, before))
                    for move in step.moves
                    for resources, weights, latency in self._table.of(move).each
                ]
                memo.flows[before] = Together(flows)
            return simulate(memo.flows[before], self.rates, self.scale)
        if memo.classes is None:
            kept = kept_classes(self.network, self.schedule)
            key = step, self.network.order
            if key not in kept:
                patterns = Patterns.of(self._moves(((step,),)))
                ranks = self.network.size
                kept[key] = classes_of(patterns, [(1,)], self.capacity, ranks, waiting=False)
            memo.classes = kept[key]
            assert memo.classes is not None
        return of_each_class(memo.classes, self.rates, before, self.scale)

    def busy_s(self, chains: Chains) -> float:
        """Seconds that the busiest resource is busy for one byte of the plan."""
        load = np.zeros(len(self.capacity))
        for step in (step for chain in chains for step in chain):
            for move in step.moves:
                shares = self._table.of(move)
                amount = move.size * step.times
                load += amount * np.bincount(shares.resources, shares.weights, minlength=len(load))
        return float((load / self.capacity).max(initial=0.0))

    def latest(self, step: Step) -> int:
        """Ticks of the longest way in a step."""
        return max((self._table.of(move).latest for move in step.moves), default=0)

    def in_step(self, outcome: Outcome, parallel: bool) -> bool:
        return len(set(outcome.arrival)) <= 1

    def alone(self, chains: Chains, before: int) -> Outcome | None:
        return contention_free(
            self.rounds(chains), self.capacity, self.network.size, before, self.network.late
        )

    def rounds(self, chains: Chains) -> list[list[Round]]:
        return [[self._round(step) for step in chain] for chain in chains]

    def _round(self, step: Step) -> Round:
        shares = [self._table.of(move) for move in step.moves]
        sizes = np.array([move.size * self.scale for move in step.moves])
        return Round(shares, np.repeat(sizes, [len(share.each) for share in shares]), step.times)

    def classes(self, chains: Chains) -> Classes | None:
        """None where there are more flows than can be told apart in a moment."""
        kept = kept_classes(self.network, self.schedule)
        key = self.schedule.key, self.network.order
        if key not in kept:
            kept[key] = self._told_apart(chains)
        return kept[key]

    def _told_apart(self, chains: Chains) -> Classes | None:
        steps = [step for chain in chains for step in chain]
        if sum(len(self.network.pairs_of(move)) for step in steps for move in step.moves) > MOST_PATTERNS:
            return None
        moves = self._moves(chains)
        if not any(shares.each for *_, shares in moves):
            return None
        times = [tuple(step.times for step in chain) for chain in chains]
        return classes_of(
            Patterns.of(moves),
            times,
            self.capacity,
            self.network.size,
            self.network.late,
        )

    def _moves(self, chains: Chains) -> list[tuple[int, int, Move, Shares]]:
        return [
            (number, at, move, self._table.of(move))
            for number, chain in enumerate(chains)
            for at, step in enumerate(chain)
            for move in step.moves
        ]

    def effort(self, chains: Chains) -> int:
        """As `Classes.effort`, every flow a class of its own."""
        return sum(
            step.times * sum(len(self.network.pairs_of(move)) for move in step.moves) ** 2
            for chain in chains
            for step in chain
        )

    def expanded(self, chains: Chains, before: int) -> tuple[list[Flow], list[range]]:
        """The flows of all chains, and which belong to each."""
        flows: list[Flow] = []
        spans = []
        begins: dict[int, list[int]] = {}
        for rank, late in enumerate(self.network.late):
            if late:  # nothing is sent, but whoever touches the rank waits for it
                begins[rank] = [len(flows)]
                flows.append(Flow(0.0, np.zeros(0, np.intp), np.zeros(0), latency=late))
        for chain in chains:
            begin = len(flows)
            touched = dict(begins)  # rank → flows of its last step it took part in
            for step in chain:
                pairs = [(move, src, dst) for move in step.moves for src, dst in self.network.pairs_of(move)]
                for _ in range(step.times):
                    now: dict[int, list[int]] = {}
                    for move, src, dst in pairs:
                        after = sorted({*touched.get(src, ()), *touched.get(dst, ())})
                        index = len(flows)
                        resources, weights, latency = self._table.of_pair(src, dst, move)
                        when = timing(move.direct, latency, before)
                        flows.append(Flow(move.size, resources, weights, *when, tuple(after)))
                        now.setdefault(src, []).append(index)
                        now.setdefault(dst, []).append(index)
                    touched.update(now)
            spans.append(range(begin, len(flows)))
        return flows, spans

    def per_link(self, carried: Floats) -> Floats:
        return carried[: len(self.network.links)]

    def per_device(self, carried: Floats) -> Floats:
        return carried[len(self.network.links) :]
