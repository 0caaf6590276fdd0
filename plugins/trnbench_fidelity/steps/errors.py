"""Errors of composed steps by class of task, generation and kind; as fitted, and with each model left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from trnbench.results.fidelity import Errors
from trnbench_fidelity.statistics import of_votes
from trnbench_fidelity.steps.archive import StepArchive
from trnbench_steps.step_constants import UNITS, Constant, StepConstants

EVERYWHERE = "all"
"""Generation of a row that counts a task on all of them, whatever the kind of model."""


class StepError(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A published step beside ours, in seconds. `e` = ln(model / published), of one that sources contradict
    each other on the distance from what they span; `e_cross` with constants that were fitted without its
    model, `e_naive` of the sum on paper. `why`: the reason where there is no answer.
    """

    id: str
    generation: str
    family: str = ""
    vote: str = ""
    published: float | None = None
    model: float | None = None
    floor: float | None = None
    e: float | None = None
    e_cross: float | None = None
    e_naive: float | None = None
    inside: bool | None = (
        None  # whether what was published lies in the band of those that are not of its model
    )
    e_frozen: float | None = None  # `e_cross` of the version before, of a point that was kept apart
    why: str = ""

    @property
    def task(self) -> str:
        return self.family.partition(",")[0]


class StepRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One class on one generation, or a task on all. `inside` of `banded` points lie in their bands."""

    family: str
    generation: str
    errors: Errors | None
    crossed: Errors | None
    naive: Errors | None
    inside: int
    banded: int


class StepFidelity(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All published steps beside the model `by` of version `version`."""

    by: str
    version: str
    rows: tuple[StepRow, ...]
    points: tuple[StepError, ...]


def step_errors(kept: StepArchive, named: Mapping[str, Constant]) -> list[StepError]:
    """Of the points of one generation, with its constants `named`."""
    now = constants(named)
    errors = []
    for answer in kept.answers:
        if answer.why:
            errors.append(StepError(id=answer.id, generation=answer.generation, why=answer.why))
            continue
        crossed = answer.time_s(constants(named, answer.vote))
        errors.append(
            StepError(
                id=answer.id,
                generation=answer.generation,
                family=answer.family,
                vote=answer.vote,
                published=answer.published_s,
                model=answer.time_s(now),
                floor=answer.floor_s,
                e=answer.error(answer.time_s(now)),
                e_cross=answer.error(crossed),
                e_naive=answer.error(answer.naive_s),
            )
        )
    return errors


def rows(points: Sequence[StepError]) -> tuple[StepRow, ...]:
    """Each task on all generations, and behind it its classes on each, in the order of the points."""
    classes = dict.fromkeys((point.family, point.generation) for point in points if not point.why)
    table: list[StepRow] = []
    for task in dict.fromkeys(family.partition(",")[0] for family, _ in classes):
        mine = [point for point in points if point.task == task]
        table.append(_row(task, EVERYWHERE, mine))
        for family, generation in sorted(classes):
            if family.startswith(f"{task},"):
                table.append(
                    _row(
                        family,
                        generation,
                        [p for p in mine if (p.family, p.generation) == (family, generation)],
                    )
                )
    return tuple(table)


def _row(family: str, generation: str, mine: Sequence[StepError]) -> StepRow:
    return StepRow(
        family=family,
        generation=generation,
        errors=_errors(mine, "e", spans=False),
        crossed=_errors(mine, "e_cross"),
        naive=_errors(mine, "e_naive", spans=False),
        inside=sum(bool(each.inside) for each in mine),
        banded=sum(each.inside is not None for each in mine),
    )


def _errors(points: Iterable[StepError], name: str, *, spans: bool = True) -> Errors | None:
    """A model on a task has one vote, |e| averaged over its points."""
    return of_votes(
        (
            (f"{point.vote} / {point.family}", point.id, e)
            for point in points
            if (e := getattr(point, name)) is not None
        ),
        spans=spans,
    )


def constants(named: Mapping[str, Constant], without: str = "") -> StepConstants:
    """The values, in seconds and shares; those of a fit without the model `without` where they are known."""
    return StepConstants(
        **{name: each.held_out.get(without, each.value) * UNITS[name][1] for name, each in named.items()}
    )
