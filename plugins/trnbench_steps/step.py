"""A step put together: operators as kernels, collectives as questions, in series, stage by stage."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from trnbench import FactError, Scope, System, item_bytes, load_registry
from trnbench.peaks import engine_rate
from trnbench.run.expectation import expectations
from trnbench_emulator.backend import MODEL_VERSION
from trnbench_steps.calls import Shapes
from trnbench_steps.division import Division, divide
from trnbench_steps.flops import floor_s
from trnbench_steps.hbm import logical_cores, rank_parameters
from trnbench_steps.job import Job, Recompute, Task
from trnbench_steps.kernel_times import KernelTimes
from trnbench_steps.layout import Axis, Layout
from trnbench_steps.model import Model
from trnbench_steps.operators import Convolution, Elementwise, Exchange, Mixing, Operator, Recurrence
from trnbench_steps.own_kernels import NONE_OWN, OwnKernels
from trnbench_steps.rank_operators import (
    backward_operators,
    between_stages,
    first_operators,
    last_operators,
    layer_operators,
)
from trnbench_steps.shipped_models import load_model
from trnbench_steps.step_constants import StepConstants, constants_of
from trnbench_steps.step_parts import (
    ATTENTION,
    ELEMENTWISE,
    MATRIX,
    NOTHING,
    OPTIMISER,
    Series,
    StepParts,
    StepTime,
)
from trnbench_steps.stretches import ExchangeTimes, Stretches

if TYPE_CHECKING:
    from trnbench.registry import Registry


class StepModel:
    """Kernels are timed once for a shape, collectives asked once, a kind of layer put together once."""

    def __init__(self) -> None:
        self.kernels = KernelTimes()
        self.exchanges = ExchangeTimes()

    def parts(self, division: Division, system: System, own: OwnKernels = NONE_OWN) -> StepParts:
        """Of `division` on `system`, without constants; with a user's `own` kernels in place of ours.

        Raises `UsageError` for a layout that does not lie there, `KernelError` and `FactError` for what
        cannot be timed.
        """
        return Composition(self, division, system, own).parts()

    def least_s(self, division: Division, system: System, constants: StepConstants) -> float:
        """Seconds that a step of training takes without exchanging gradients and weights at its end, which on
        a cluster costs more to work out than all the rest. Raises as `parts`."""
        return Composition(self, division, system).parts(exchanged=False).time(constants).time_s

    def time(
        self, division: Division, system: System, constants: StepConstants, own: OwnKernels = NONE_OWN
    ) -> StepTime:
        return self.parts(division, system, own).time(constants)


def step(
    model: Model | str | Path, layout: Layout, job: Job, system: System, registry: Registry | None = None
) -> StepTime:
    """The time of one step with the constants of the system's generation; `model` may be its name or file.

    With the nearest published step that `registry` (what is installed) knows, and its band.

    Raises `UsageError` for what does not divide or lie there, `FactError` and `KernelError` for what cannot
    be timed.
    """
    described = model if isinstance(model, Model) else load_model(model)
    division = divide(described, layout, job)
    nearest = expectations(registry or load_registry(), {}).nearest(division, system, version=MODEL_VERSION)
    time = StepModel().time(division, system, constants_of(system))
    return replace(time, nearest=nearest, least_s=floor_s(division, system))


class Composition:
    """Of one division on one system."""

    def __init__(
        self, model: StepModel, division: Division, system: System, own: OwnKernels = NONE_OWN
    ) -> None:
        self.model, self.division, self.system, self.own = model, division, system, own
        cores, per_device = logical_cores(system, division.layout.lnc)
        physical = system.devices * system.cores_per_device // cores
        self.shapes = Shapes(division, system, physical)
        self.busy = min(division.layout.ranks, per_device) * physical

    def parts(self, *, exchanged: bool = True) -> StepParts:
        """`exchanged`: gradients and weights are, at the end of a step of training."""
        division, layout = self.division, self.division.layout
        layers = {kind: self._layer(kind) for kind in range(len(division.model.kinds))}
        stages = [self._stage(stage, layers) for stage in range(layout.pp)]
        if division.job.task is not Task.TRAIN:
            # A batch passes all stages, one after the other.
            return StepParts(stages=(reduce(Series.plus, stages),))
        updates = [self._series(self._update(stage, exchanged), OPTIMISER) for stage in range(layout.pp)]
        return StepParts(
            stages=tuple(stages),
            micro_batches=division.micro_batches,
            bubble=(layout.pp - 1) / layout.chunks,
            once=max(updates, key=lambda series: series.all),
        )

    def _update(self, stage: int, exchanged: bool) -> list[Operator]:
        operators = update_operators(self.division, stage)
        return [operator for operator in operators if exchanged or not isinstance(operator, Exchange)]

    def _stage(self, stage: int, layers: dict[int, Series]) -> Series:
        """What a rank of `stage` does for one micro-batch."""
        division, pp = self.division, self.division.layout.pp
        training = division.job.task is Task.TRAIN
        found = NOTHING
        for kind, count in division.stages[stage].items():
            found = found.plus(layers[kind], count)
        if stage == 0:
            first = self._series(first_operators(division))
            found = found.plus(first, 2.0 if training else 1.0)
        if stage == pp - 1:
            last = last_operators(division)
            found = found.plus(self._series(last))
            if training:
                found = found.plus(self._series(last), 2.0)
        sent = self._series(between_stages(division))
        return found.plus(sent, (2.0 if training else 1.0) * division.layout.chunks)

    def _layer(self, kind: int) -> Series:
        found = NOTHING
        for _, operators in self.passes(kind):
            found = found.plus(self._series(operators))
        return found

    def passes(self, kind: int) -> list[tuple[str, list[Operator]]]:
        """Of one layer of `kind`: what is done in each pass, in order."""
        division, job = self.division, self.division.job
        forward = layer_operators(division, kind)
        if job.task is not Task.TRAIN:
            return [("forward", forward)]
        made = [("forward", forward), ("backward", backward_operators(division, kind))]
        if job.recompute is Recompute.FULL:
            made.insert(1, ("recomputed", forward))
        if job.recompute is Recompute.SELECTIVE:
            made.insert(1, ("recomputed", [each for each in forward if isinstance(each, Mixing)]))
        return made

    def _series(self, operators: Sequence[Operator], part: str = "") -> Series:
        """In series; `part` takes all of it, where it is one by itself."""
        return self.stretches(operators, part).series()

    def stretches(self, operators: Sequence[Operator], part: str = "") -> Stretches:
        """The same, event by event."""
        parts = Stretches(part)
        before: Operator | None = None
        for number, operator in enumerate(operators):
            if isinstance(operator, Exchange):
                spent = self.model.exchanges.time(operator, self.division.layout, self.system)
                parts.exchange(f"{operator.name}: {operator.collective}", spent)
            elif source := self.own.replaces(operator):
                call = self.own.call(operator, source, self.shapes, self.model.kernels)
                found = self.model.kernels.time(call, self.system, self.busy)
                parts.own_kernel(operator.name, _part(operator), found)
            elif (before and self.own.replaces(before)) or not self.shapes.fused(operator, before):
                beside = [each for each in (before, *operators[number + 1 : number + 2]) if each]
                self._ours(operator, parts, apart=any(map(self.own.replaces, beside)))
            before = operator
        return parts

    def _ours(self, operator: Operator, made: Stretches, *, apart: bool) -> None:
        """`apart`: beside a user's kernel, which leaves nothing in SBUF and takes nothing from there."""
        calls = self.shapes.of(operator)
        if not calls:
            assert isinstance(operator, Recurrence)
            made.roofline(operator.name, ATTENTION, *self._roofline(operator))
        for does, call in calls:
            name = f"{operator.name}: {does}" if does else operator.name
            timing = self.model.kernels.time(call, self.system, self.busy)
            made.kernel(name, _part(operator), call, timing)
            if apart and call.stays:
                stored = replace(call, stays=False)
                whole = self.model.kernels.time(stored, self.system, self.busy).all
                made.round_trip(name, max(whole - timing.all, 0.0))

    def _roofline(self, operator: Recurrence) -> tuple[float, float]:
        """FLOP over the engine bound, and what its operands take beyond that over the core's share of HBM."""
        job, cores = self.division.job, self.shapes.cores
        peak = engine_rate(self.system, job.activations)
        rate = self.system.fact(Scope.DEVICE, "hbm_bandwidth")
        if peak is None or rate is None:
            raise FactError(
                f"no document gives the engine bound or the HBM rate of {self.system.name}",
                cause="an operator without a kernel takes what these allow",
                try_="--facts with a file that gives them",
            )
        engines = operator.flops / (peak.value * cores)
        moved = _moved(operator) * item_bytes(job.activations) / cores
        return engines, max(moved * self.busy / rate - engines, 0.0)


def _part(operator: Operator) -> str:
    if isinstance(operator, Mixing | Convolution | Recurrence):
        return ATTENTION
    return ELEMENTWISE if isinstance(operator, Elementwise) else MATRIX


def _moved(operator: Recurrence) -> float:
    """Elements that attention without a kernel reads and writes at least."""
    state = 2 * 2 * operator.heads * operator.key_dim * operator.value_dim
    own = operator.tokens * operator.heads * (operator.key_dim + operator.value_dim)
    return float(operator.sequences * (state + 2 * own))


def update_operators(division: Division, stage: int) -> list[Operator]:
    """Of one rank of `stage`, in order, once a step.

    Gradients are all-reduced over the ranks that hold the same parameters; with ZeRO stage 1 they are
    scattered, each of these ranks changes its part of the weights, and the parts are gathered (Rajbhandari et
    al. 2020, section 7.1). Experts have replicas of their own. Adam reads weights, gradient and two moments,
    and a copy of the weights where there is one.
    """
    held, layout, job = rank_parameters(division, stage), division.layout, division.job
    cut = layout.zero == 1
    operators: list[Operator] = []
    for name, parameters, axis, replicas in (
        ("weights", held.others, Axis.REPLICA, layout.replicas),
        ("experts", held.experts, Axis.EXPERT_DATA, layout.expert_data),
    ):
        if not parameters:
            continue
        if replicas > 1:
            collective = "reduce_scatter" if cut else "all_reduce"
            size = parameters * item_bytes(job.gradients)
            operators.append(
                Exchange(name=f"gradients of {name}", collective=collective, axis=axis, size=size)
            )
        own = parameters / (replicas if cut else 1)
        operands = 5 if job.master and job.master != job.weights else 4
        operators.append(Elementwise(name=f"adam of {name}", rows=own, width=1, operands=operands))
        if replicas > 1 and cut:
            size = parameters * item_bytes(job.weights)
            operators.append(Exchange(name=name, collective="all_gather", axis=axis, size=size))
    return operators
