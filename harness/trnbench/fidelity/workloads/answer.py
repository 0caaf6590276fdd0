"""What the composed step says of a published one: seconds without constants, and what each constant adds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from trnbench.errors import TrnbenchError
from trnbench.fidelity.prediction import NotEmulated
from trnbench.fidelity.workloads.compose import Composed, composed
from trnbench.fidelity.workloads.naive import naive_s
from trnbench.fidelity.workloads.point import PublishedStep
from trnbench.workloads.floor import floor
from trnbench.workloads.step import StepModel
from trnbench.workloads.step_constants import NONE, UNITS, StepConstants
from trnbench.workloads.step_parts import COLLECTIVES, StepParts

if TYPE_CHECKING:
    from trnbench.registry import Registry

NAMES = tuple(UNITS)
"""Constants in the order of a row's coefficients."""


class StepAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`rows`: of each pipeline stage that may be the slowest, seconds without constants and then seconds for
    one of each of `NAMES` (a second, or a share of 1). `links_s` of them are the links' of its collectives,
    of which there are `collectives` in series. `why`: the reason where there is no answer, and then nothing
    else.

    `published_s`, `floor_s` and `naive_s` are what was measured, what documents allow at best, and the sum
    that people make on paper.
    """

    id: str
    generation: str
    family: str = ""
    vote: str = ""
    published_s: float = 0.0
    floor_s: float = 0.0
    naive_s: float = 0.0
    rows: tuple[tuple[float, ...], ...] = ()
    links_s: float = 0.0
    collectives: float = 0.0
    roofline_share: float = 0.0
    why: str = ""

    def time_s(self, constants: StepConstants) -> float:
        """Of the stage that takes longest with these constants."""
        values = (1.0, *(float(getattr(constants, name)) for name in NAMES))
        return max(sum(a * b for a, b in zip(row, values, strict=True)) for row in self.rows)


def answers(registry: Registry, points: Iterable[PublishedStep]) -> Iterator[StepAnswer]:
    """One for each point, in their order; kernels of a shape are timed once for all."""
    model = StepModel()
    for point in points:
        try:
            yield _answer(composed(point, registry), model, registry)
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
