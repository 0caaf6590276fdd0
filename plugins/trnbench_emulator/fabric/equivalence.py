"""Flows that cannot be told apart take the same time: one of each class is simulated, not all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from trnbench.record import Record
from trnbench_emulator.fabric.flow import Together
from trnbench_emulator.fabric.maxmin import Floats, Indices
from trnbench_emulator.fabric.network import CLASSES, PLANS, STEPS, Network
from trnbench_emulator.fabric.schedule import Move, Schedule, Step
from trnbench_emulator.fabric.shares import Shares


class Patterns(Record, dict=True):
    """By place in every array one sender's part of one step of one chain, however often the step is repeated;
    `resources` and `weights` are those of all, one after the other, `lengths` many of each.
    """

    chain: Indices
    step: Indices
    src: Indices
    dst: Indices
    size: Floats
    latency: Indices
    direct: NDArray[np.bool_]
    lengths: Indices
    resources: Indices
    weights: Floats

    @classmethod
    def of(cls, moves: Sequence[tuple[int, int, Move, Shares]]) -> Patterns:
        """Of moves in a chain and a step: every pair of each."""
        counts = [len(shares.each) for _, _, _, shares in moves]
        src, dst = np.concatenate([shares.ends for _, _, _, shares in moves], axis=1)
        return cls(
            np.repeat(np.array([chain for chain, _, _, _ in moves], dtype=np.intp), counts),
            np.repeat(np.array([step for _, step, _, _ in moves], dtype=np.intp), counts),
            src,
            dst,
            np.repeat(np.array([move.size for _, _, move, _ in moves], dtype=np.float64), counts),
            np.concatenate([shares.latency for _, _, _, shares in moves]),
            np.repeat(np.array([move.direct for _, _, move, _ in moves], dtype=np.bool_), counts),
            np.concatenate([shares.lengths for _, _, _, shares in moves]),
            np.concatenate([shares.resources for _, _, _, shares in moves]),
            np.concatenate([shares.weights for _, _, _, shares in moves]),
        )

    def __len__(self) -> int:
        return len(self.chain)


class Classes(Record, kw_only=True, dict=True):
    """`flow[p]`, `resource[r]` and `rank[chain · ranks + rank]` number the class of each member."""

    flow: Indices
    resource: Indices
    rank: Indices
    patterns: Patterns
    shapes: tuple[int, ...]
    """The shape of every chain: chains of one shape have equally many steps, repeated as often."""
    times: tuple[tuple[int, ...], ...]
    """Repetitions of the steps of every shape."""
    memo: dict[object, Any] = {}
    """What `steady_state` carries out in place of them, whatever the size."""

    @cached_property
    def first(self) -> Indices:
        """One member of every class of flows, by the number of the class."""
        return np.unique(self.flow, return_index=True)[1]

    @cached_property
    def per_step(self) -> Counter[tuple[int, int]]:
        """How many classes of flows there are in every (shape, step)."""
        patterns = self.patterns
        chains, steps = patterns.chain[self.first].tolist(), patterns.step[self.first].tolist()
        return Counter((self.shapes[chain], step) for chain, step in zip(chains, steps, strict=True))

    @cached_property
    def carried(self) -> Floats:
        """Bytes over every resource, all repetitions counted."""
        patterns = self.patterns
        begins = np.cumsum([0, *map(len, self.times)])[np.array(self.shapes, dtype=np.intp)]
        times = np.array([n for of_shape in self.times for n in of_shape])
        amounts = patterns.size * times[begins[patterns.chain] + patterns.step]
        weights = patterns.weights * np.repeat(amounts, patterns.lengths)
        return np.bincount(patterns.resources, weights, minlength=len(self.resource)).astype(np.float64)

    @cached_property
    def by_chain(self) -> list[Indices]:
        """The classes of flows of every chain."""
        return [
            np.flatnonzero(np.bincount(self.flow[self.patterns.chain == chain]))
            for chain in range(len(self.shapes))
        ]

    def effort(self, times: Sequence[Sequence[int]]) -> int:
        """Flows to simulate, each counted as often as there are others in its step."""
        return sum(times[shape][step] * count**2 for (shape, step), count in self.per_step.items())


class StepMemo(msgspec.Struct):
    """Of one step, all ranks beginning at once."""

    classes: Classes | None = None
    flows: dict[int, Together] = {}
    """Of a plan of one byte, by the ticks before each message."""


def kept_classes(network: Network, schedule: Schedule) -> dict[object, Classes | None]:
    """Of plans that have a name: by what is told apart, for all networks of the same links. Which flows are
    alike hangs on how the capacities of links and memories compare, not on what they are: `order`.
    """
    if not schedule.key:
        return {}
    kept: dict[object, Classes | None] = network.memo.setdefault(CLASSES, {})
    return kept


class PlanMemo(msgspec.Struct):
    """Of one plan on a network."""

    uneven: bool = False  # ranks do not keep in step by themselves
    compete: bool = False  # some flow slows another
    latency: int | None = None
    classes: Classes | msgspec.UnsetType | None = msgspec.UNSET  # None where no classes are looked for
    steps: dict[Step, StepMemo] = {}
    all: Together | None = None  # of one byte, every repetition: what they carry is added up


def memo_of(network: Network, schedule: Schedule, kind: str) -> PlanMemo:
    """Kept with the network where the plan has a name. `kind`: of the flows that it is carried out by."""
    if not schedule.key:
        return PlanMemo()
    kept: dict[tuple[str, str, float], PlanMemo] = network.of_capacity.setdefault(PLANS, {})
    return kept.setdefault((kind, schedule.key, schedule.per_message_s), PlanMemo())


def step_memo(network: Network, schedule: Schedule, plan: PlanMemo, step: Step, kind: str) -> StepMemo:
    """Of plans that have a name, equal steps share it: an all-reduce takes those of its reduce-scatter and of
    its all-gather. `kind`: of the flows that it is carried out by.
    """
    steps = network.of_capacity.setdefault((STEPS, kind), {}) if schedule.key else plan.steps
    memo: StepMemo = steps.setdefault(step, StepMemo())
    return memo
