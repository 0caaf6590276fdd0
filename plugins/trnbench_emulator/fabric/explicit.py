"""A schedule as one flow per sender and receiver, or per class of them."""

from __future__ import annotations

import numpy as np

from trnbench_emulator.fabric.carrier import Carrier
from trnbench_emulator.fabric.colour_refinement import MOST_PATTERNS, classes_of
from trnbench_emulator.fabric.contention_free import Round, contention_free
from trnbench_emulator.fabric.equivalence import Classes, Patterns, kept_classes, step_memo
from trnbench_emulator.fabric.flow import Flow, follow, late_begin, timing
from trnbench_emulator.fabric.fluid import Outcome
from trnbench_emulator.fabric.maxmin import Floats
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.schedule import Chains, Move, Schedule, Step
from trnbench_emulator.fabric.shares import Shares, shares_of
from trnbench_emulator.fabric.steady_state import of_each_class

MANY = 256
"""Flows of one step from which classes are looked for before it is simulated."""


class ExplicitFlows(Carrier):
    """One flow per sender and receiver."""

    kind = "flows"

    def __init__(self, network: Network, schedule: Schedule) -> None:
        super().__init__(network, schedule, network.capacity, len(network.links))
        self._table = shares_of(network)

    def shares(self, move: Move) -> Shares:
        """Raises TopologyError as well, where there is no way."""
        return self._table.of(move)

    def step(self, step: Step, before: int) -> Outcome:
        """As of any; `arrival` by classes where there are many flows."""
        if self.width(step) < MANY:
            return super().step(step, before)
        memo = step_memo(self.network, self.schedule, self.memo, step, self.kind)
        if memo.classes is None:
            kept = kept_classes(self.network, self.schedule)
            key = step, self.network.order
            if key not in kept:
                patterns = Patterns.of(self.moves(((step,),)))
                ranks = self.network.size
                kept[key] = classes_of(patterns, [(1,)], self.capacity, ranks, waiting=False)
            memo.classes = kept[key]
            assert memo.classes is not None
        return of_each_class(memo.classes, self.rates, before, self.scale)

    def in_step(self, outcome: Outcome, parallel: bool) -> bool:
        return len(set(outcome.arrival)) <= 1

    def alone(self, chains: Chains, before: int) -> Outcome | None:
        return contention_free(
            self.rounds(chains), self.capacity, self.network.size, before, self.network.late
        )

    def rounds(self, chains: Chains) -> list[list[Round]]:
        return [[self._round(step) for step in chain] for chain in chains]

    def _round(self, step: Step) -> Round:
        shares = [self.shares(move) for move in step.moves]
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
        if sum(self.width(step) for chain in chains for step in chain) > MOST_PATTERNS:
            return None
        moves = self.moves(chains)
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

    def expanded(self, chains: Chains, before: int) -> tuple[list[Flow], list[range]]:
        """The flows of all chains, and which belong to each."""
        flows: list[Flow] = []
        spans = []
        begins: dict[int, list[int]] = {}
        for rank, late in enumerate(self.network.late):
            late_begin(flows, begins, rank, late)
        for chain in chains:
            begin = len(flows)
            touched = dict(begins)  # rank → flows of its last step it took part in
            for step in chain:
                sent = [
                    (*pair, move.size, resources, weights, *timing(move.direct, latency, before))
                    for move in step.moves
                    for shares in [self.shares(move)]
                    for pair, (resources, weights, latency) in zip(shares.pairs, shares.each, strict=True)
                ]
                follow(flows, touched, sent, step.times)
            spans.append(range(begin, len(flows)))
        return flows, spans

    def per_link(self, carried: Floats) -> Floats:
        return carried[: len(self.network.links)]

    def per_device(self, carried: Floats) -> Floats:
        return carried[len(self.network.links) :]
