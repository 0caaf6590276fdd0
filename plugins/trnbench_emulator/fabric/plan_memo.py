"""What is found out about a plan, and about each of its steps, once, whatever the size."""

from __future__ import annotations

import msgspec

from trnbench_emulator.fabric.equivalence import Classes
from trnbench_emulator.fabric.flow import Together
from trnbench_emulator.fabric.fluid import Outcome
from trnbench_emulator.fabric.network import CLASSES, PLANS, STEPS, Network
from trnbench_emulator.fabric.schedule import Move, Schedule, Step
from trnbench_emulator.fabric.shares import Shares

KEPT = 16
"""Outcomes kept of a step."""


class StepMemo(msgspec.Struct):
    """Of one step, all ranks beginning at once."""

    classes: Classes | None = None
    flows: dict[int, Together] = {}
    """Of a plan of one byte, by the ticks before each message."""
    outcomes: dict[tuple[float, int], Outcome] = {}
    """The latest, by the size of a byte of the plan and the ticks before each message."""

    def keep(self, key: tuple[float, int], outcome: Outcome) -> Outcome:
        if len(self.outcomes) >= KEPT:
            self.outcomes.pop(next(iter(self.outcomes)))
        self.outcomes[key] = outcome
        return outcome


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
    classes: dict[int, Classes | None] = {}  # by what may be simulated at most
    steps: dict[int, StepMemo] = {}  # by place in the merged chains
    moves: dict[int, tuple[Move, Shares]] = {}  # by identity
    all: Together | None = None  # of one byte, every repetition: what they carry is added up


def memo_of(network: Network, schedule: Schedule, kind: str) -> PlanMemo:
    """Kept with the network where the plan has a name. `kind`: of the flows that it is carried out by."""
    if not schedule.key:
        return PlanMemo()
    kept: dict[tuple[str, str, float], PlanMemo] = network.of_capacity.setdefault(PLANS, {})
    return kept.setdefault((kind, schedule.key, schedule.per_message_s), PlanMemo())


def step_memo(
    network: Network, schedule: Schedule, plan: PlanMemo, place: int, step: Step, kind: str
) -> StepMemo:
    """Of plans that have a name, equal steps share it: an all-reduce takes those of its reduce-scatter and of
    its all-gather. `kind`: of the flows that an outcome is about.
    """
    memo = plan.steps.get(place)
    if memo is None:
        shared: dict[tuple[str, Step], StepMemo] = network.of_capacity.setdefault(STEPS, {})
        memo = shared.setdefault((kind, step), StepMemo()) if schedule.key else StepMemo()
        plan.steps[place] = memo
    return memo
