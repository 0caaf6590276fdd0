"""What composed steps say of published ones, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from trnbench.errors import TrnbenchError
from trnbench_fidelity.prediction import NotEmulated
from trnbench_fidelity.steps.compose import Composed, composed, contradicted
from trnbench_fidelity.steps.naive import naive_s
from trnbench_fidelity.steps.point import PublishedStep
from trnbench_fidelity.steps.step_answer import NAMES, StepAnswer
from trnbench_steps.floor import floor
from trnbench_steps.step import StepModel
from trnbench_steps.step_constants import NONE
from trnbench_steps.step_parts import COLLECTIVES, StepParts

if TYPE_CHECKING:
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
    slowest = max(parts.stages, key=lambda stage: stage.all)
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
        links_s=without.parts.get(COLLECTIVES, 0.0),
        collectives=slowest.collectives * parts.micro_batches,
        roofline_share=without.roofline_share,
    )


def _row(parts: StepParts, stage: int) -> tuple[float, ...]:
    """A stage alone is linear in the constants."""
    one = msgspec.structs.replace(parts, stages=(parts.stages[stage],))
    base = one.time(NONE).time_s
    return (base, *(one.time(msgspec.structs.replace(NONE, **{name: 1.0})).time_s - base for name in NAMES))
