"""What composed steps say of published ones, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from trnbench.errors import TrnbenchError
from trnbench.kernels.work import item_bytes
from trnbench_emulator.fabric.ask import ask
from trnbench_emulator.fabric.publication import published_question
from trnbench_fidelity.prediction import NotEmulated
from trnbench_fidelity.steps.compose import Composed, composed, contradicted
from trnbench_fidelity.steps.point import PublishedStep
from trnbench_fidelity.steps.step_answer import NAMES, StepAnswer
from trnbench_steps.division import Division
from trnbench_steps.floor import floor
from trnbench_steps.job import Task
from trnbench_steps.step import StepModel
from trnbench_steps.step_constants import NONE
from trnbench_steps.step_parts import COLLECTIVES, STARTS, StepParts

if TYPE_CHECKING:
    from trnbench.generation import System
    from trnbench.registry import Registry


def answers(registry: Registry, points: Iterable[PublishedStep]) -> Iterator[StepAnswer]:
    """One for each point, in their order; kernels of a shape are timed once for all."""
    model, every = StepModel(), tuple(points)
    spans = contradicted(registry, every)
    for point in every:
        try:
            answer = _answer(composed(point, registry), model, registry)
            yield msgspec.structs.replace(answer, span_s=spans.get(point.id))
        except NotEmulated as no:
            yield StepAnswer(id=point.id, generation=point.generation, why=no.why)
        except TrnbenchError as error:  # a layout that cannot be timed costs its own point
            yield StepAnswer(id=point.id, generation=point.generation, why=error.what)


def _answer(step: Composed, model: StepModel, registry: Registry) -> StepAnswer:
    parts = model.parts(step.division, step.system)
    without = parts.time(NONE)
    return StepAnswer(
        id=step.point.id,
        generation=step.point.generation,
        family=step.family,
        vote=step.vote,
        published_s=step.point.time_s,
        floor_s=floor(step.division, step.system).time_s,
        naive_s=naive_s(step.division, step.system, registry),
        rows=tuple(_row(parts, number) for number in range(len(parts.stages))),
        moving_s=without.parts.get(COLLECTIVES, 0.0),
        starts_s=without.parts.get(STARTS, 0.0),
        roofline_share=without.roofline_share,
    )


def _row(parts: StepParts, stage: int) -> tuple[float, ...]:
    """A stage alone is linear in the constants."""
    one = msgspec.structs.replace(parts, stages=(parts.stages[stage],))
    base = one.time(NONE).time_s
    return (base, *(one.time(msgspec.structs.replace(NONE, **{name: 1.0})).time_s - base for name in NAMES))


A_LAYER = 2
"""All-reduces of a layer over the tensor ranks: after attention and after the network."""


def naive_s(division: Division, system: System, registry: Registry) -> float:
    """Seconds: the larger of what is read over the documented HBM and multiplied over the clocks, and two
    all-reduces a layer as alone, of each micro-batch and forwards and backwards in training.

    Raises `UsageError` where the tensor ranks do not lie in an instance.
    """
    job, layout, model = division.job, division.layout, division.model
    seconds = floor(division, system).time_s
    if layout.tp == 1:
        return seconds
    inside = system.instance.parent if system.instance.sizable else system.name
    size = float(division.tokens * model.hidden * item_bytes(job.activations))
    question = published_question(
        registry.system(inside), "all_reduce", size, layout.tp, nodes=1, lnc=layout.lnc
    )
    passes = division.micro_batches * (2 if job.task is Task.TRAIN else 1)
    return seconds + A_LAYER * model.layers // layout.pp * passes * ask(question).time_s
