"""What carries a schedule out: the flows of its moves, and what follows whatever each of them stands for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from trnbench_emulator.fabric.equivalence import memo_of, step_memo
from trnbench_emulator.fabric.flow import Flow, Together, timing
from trnbench_emulator.fabric.fluid import Outcome, simulate
from trnbench_emulator.fabric.maxmin import Floats
from trnbench_emulator.fabric.network import RATES, Network
from trnbench_emulator.fabric.rates import Rates
from trnbench_emulator.fabric.schedule import Chains, Move, Schedule, Step
from trnbench_emulator.fabric.shares import Shares


class Carrier(ABC):
    """Of one schedule on a network. `capacity` in bytes/s, of links and, from `first_memory` on, memories."""

    kind: ClassVar[str]

    def __init__(self, network: Network, schedule: Schedule, capacity: Floats, first_memory: int) -> None:
        self.network, self.schedule, self.scale = network, schedule, schedule.scale
        self.memo = memo_of(network, schedule, self.kind)
        self.capacity = capacity
        self.rates: Rates = network.of_capacity.setdefault(
            (RATES, self.kind), Rates(capacity, np.arange(len(capacity)) >= first_memory)
        )

    @abstractmethod
    def shares(self, move: Move) -> Shares:
        """What its flows take. Raises ValueError where a rank sends to itself."""

    def flows(self, move: Move, before: int, after: tuple[int, ...] = ()) -> list[Flow]:
        """Of a plan of one byte."""
        return [
            Flow(move.size, resources, weights, *timing(move.direct, latency, before), after)
            for resources, weights, latency in self.shares(move).each
        ]

    def step(self, step: Step, before: int) -> Outcome:
        """One repetition of a step, all ranks beginning at once; `arrival` by flows."""
        flows = step_memo(self.network, self.schedule, self.memo, step, self.kind).flows
        if before not in flows:
            flows[before] = Together([flow for move in step.moves for flow in self.flows(move, before)])
        return simulate(flows[before], self.rates, self.scale)

    def busy_s(self, chains: Chains) -> float:
        """Seconds that the busiest resource is busy for one byte of the plan."""
        load = np.zeros(len(self.capacity))
        for step in (step for chain in chains for step in chain):
            for move in step.moves:
                shares = self.shares(move)
                amount = move.size * step.times
                load += amount * np.bincount(shares.resources, shares.weights, minlength=len(load))
        return float((load / self.capacity).max(initial=0.0))

    def latest(self, step: Step) -> int:
        """Ticks of the longest way in a step."""
        return max((self.shares(move).latest for move in step.moves), default=0)

    def width(self, step: Step) -> int:
        """Flows of one repetition of a step."""
        return sum(len(self.shares(move).each) for move in step.moves)

    def effort(self, chains: Chains) -> int:
        """As `Classes.effort`, every flow a class of its own."""
        return sum(step.times * self.width(step) ** 2 for chain in chains for step in chain)

    def moves(self, chains: Chains) -> list[tuple[int, int, Move, Shares]]:
        """Each with the numbers of its chain and its step."""
        return [
            (number, at, move, self.shares(move))
            for number, chain in enumerate(chains)
            for at, step in enumerate(chain)
            for move in step.moves
        ]
