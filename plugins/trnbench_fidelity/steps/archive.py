"""What a generation keeps of its published steps: the model's answers to them, and bands."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from trnbench import Band, Generation, Nearness
from trnbench.record import Record
from trnbench.store.answers import answers_of
from trnbench_fidelity.nearness.bands import Bands, Ends, Groups, Ranges, bands_of
from trnbench_fidelity.point import NotEmulated
from trnbench_fidelity.steps.compose import composed, contradicted
from trnbench_fidelity.steps.load import PublishedStep, published_steps
from trnbench_steps.step_constants import UNITS, StepConstants

if TYPE_CHECKING:
    from trnbench.registry import Registry


NAMES = tuple(UNITS)
"""Constants in the order of a row's coefficients."""


class StepSeconds(Record, kw_only=True):
    """`rows`: of each pipeline stage that may be the slowest, seconds without constants and then seconds for
    one of each of `NAMES` (a second, or a share of 1). `starts_s` of them are the starts of its collectives,
    `moving_s` what these take beside. `floor_s` and `naive_s` are what documents allow at best, and the sum
    that people make on paper. `why`: the reason where there is no answer, and then nothing else.
    """

    rows: tuple[tuple[float, ...], ...] = ()
    floor_s: float = 0.0
    naive_s: float = 0.0
    starts_s: float = 0.0
    moving_s: float = 0.0
    roofline_share: float = 0.0
    why: str = ""


class StepAnswer(StepSeconds, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`published_s` is what was measured. `span_s`: the least and the most that sources print of the same
    step, where they contradict each other."""

    id: str
    generation: str
    family: str = ""
    vote: str = ""
    published_s: float = 0.0
    span_s: tuple[float, float] | None = None

    def time_s(self, constants: StepConstants) -> float:
        """Of the stage that takes longest with these constants."""
        values = (1.0, *(float(getattr(constants, name)) for name in NAMES))
        return max(sum(a * b for a, b in zip(row, values, strict=True)) for row in self.rows)

    @property
    def printed_s(self) -> tuple[float, float]:
        """The least and the most that is printed of it."""
        return self.span_s or (self.published_s, self.published_s)

    def error(self, seconds: float) -> float:
        """ln(seconds / published); of a contradicted step 0 inside what its sources span, else the distance
        to the nearer end."""
        least, most = self.printed_s
        return math.log(seconds / min(max(seconds, least), most))


SECTION = "steps"
"""Of a generation's answers."""


class StepArchive(Record, kw_only=True, forbid_unknown_fields=True):
    """Of one generation, by version `version` of the model `by`: answers, and group → class → band.

    `inside`: which of the points lie in the band that they would be given, had nothing of their model been
    published; of answers that no band was made for it is empty. `ends`: what the ranges of the constants do.
    """

    generation: str
    by: str
    version: str
    answers: tuple[StepAnswer, ...] = ()
    groups: dict[str, dict[Nearness, Band]] = {}
    inside: dict[str, bool] = {}
    ends: dict[str, Ends] = {}


class StepRow(StepSeconds, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is kept of an answer to a usable point, and by the names of `StepArchive`."""

    inside: bool | None = None
    ends: Ends | None = None


class StepRows(Record, kw_only=True, forbid_unknown_fields=True):
    """The section of a generation's answers, by version `version` of the model `by`."""

    by: str
    version: str
    answers: dict[str, StepRow]
    bands: Groups


def shipped_steps(generation: Generation) -> StepRows | None:
    """None where it ships none. Raises `BadInput` for answers that hold something else."""
    answers = answers_of(generation)
    return answers.section(SECTION, StepRows) if answers is not None else None


def shipped_step_bands(generation: Generation) -> Bands | None:
    """Bands of the steps that it ships. Raises `BadInput`."""
    rows = shipped_steps(generation)
    return bands_of(rows.version, rows.bands) if rows is not None else None


def shipped_step_ranges(generation: Generation) -> Ranges:
    """What the ranges of its constants do to its published steps. Raises `BadInput`."""
    rows = shipped_steps(generation)
    return Ranges(points=_ends(rows)) if rows is not None else Ranges()


def _ends(rows: StepRows) -> dict[str, Ends]:
    return {id: row.ends for id, row in rows.answers.items() if row.ends is not None}


def step_archives(registry: Registry) -> dict[str, StepArchive]:
    """Generation → what it keeps, for those that keep any. Raises `BadInput` and what `published_steps` does.

    Every published step that has an answer is composed, which takes tenths of a second.
    """
    kept: dict[str, StepArchive] = {}
    for name, steps in published_steps(registry).items():
        generation = registry.generations[name]
        rows, bands = shipped_steps(generation), shipped_step_bands(generation)
        if rows is None or bands is None:
            continue
        spans = contradicted(registry, steps.points)
        kept[name] = StepArchive(
            generation=name,
            by=rows.by,
            version=rows.version,
            answers=tuple(
                _answer(point, rows.answers.get(point.id, StepRow()), registry, spans)
                for point in steps.points
                if point.id in rows.answers or not point.usable
            ),
            groups=bands.groups,
            inside={id: row.inside for id, row in rows.answers.items() if row.inside is not None},
            ends=_ends(rows),
        )
    return kept


def _answer(
    point: PublishedStep, row: StepRow, registry: Registry, spans: Mapping[str, tuple[float, float]]
) -> StepAnswer:
    try:
        step = composed(point, registry)
    except NotEmulated as no:
        return StepAnswer(id=point.id, generation=point.generation, why=no.why)
    if row.why:
        return StepAnswer(id=point.id, generation=point.generation, why=row.why)
    return StepAnswer(
        id=point.id,
        generation=point.generation,
        family=step.family,
        vote=step.vote,
        published_s=point.time_s,
        span_s=spans.get(point.id),
        **{name: getattr(row, name) for name in StepSeconds.__struct_fields__},
    )
