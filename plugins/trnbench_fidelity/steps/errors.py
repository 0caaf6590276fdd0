"""Errors of composed steps by class of task, generation and kind, as numbers and as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from trnbench.record import Record
from trnbench.results.expectation import NOTHING, signed_text, size_text
from trnbench.results.fidelity import Errors
from trnbench_fidelity.statistics import of_votes
from trnbench_fidelity.steps.archive import StepArchive
from trnbench_fidelity.tables import count_text, folded, grid, with_span
from trnbench_steps.step_constants import Constant, in_seconds

EVERYWHERE = "all"
"""Generation of a row that counts a task on all of them, whatever the kind of model."""


class StepError(Record, kw_only=True, forbid_unknown_fields=True):
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


class StepRow(Record, kw_only=True, forbid_unknown_fields=True):
    """One class on one generation, or a task on all. `inside` of `banded` points lie in their bands."""

    family: str
    generation: str
    errors: Errors | None
    crossed: Errors | None
    naive: Errors | None
    inside: int
    banded: int


class StepFidelity(Record, kw_only=True, forbid_unknown_fields=True):
    """All published steps beside the model `by` of version `version`."""

    by: str
    version: str
    rows: tuple[StepRow, ...]
    points: tuple[StepError, ...]


def step_errors(kept: StepArchive, named: Mapping[str, Constant]) -> list[StepError]:
    """Of the points of one generation, with its constants `named`."""
    now = in_seconds(named)
    errors = []
    for answer in kept.answers:
        if answer.why:
            errors.append(StepError(id=answer.id, generation=answer.generation, why=answer.why))
            continue
        crossed = answer.time_s(in_seconds(named, answer.vote))
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


HEADS = (
    *("class", "generation", "models, points", "left out: median", "left out: p90", "bias"),
    *("as fitted", "naive sum", "inside the band"),
)
MEANS = (
    "Errors are of the step's time, e = ln(model / published): 15 % is a factor of 1.15 either way. A "
    "model on a task has one vote, |e| averaged over its points. Left out: the constants were fitted "
    "without any point of that model, however it is spelt; as fitted: with all of them. Naive sum: what "
    "is read over the documented HBM or multiplied over the clocks, and two all-reduces a layer as alone. "
    "Inside the band: published steps that lie in the band they would be given, had nothing of their "
    "model been published."
)
BEGIN = "<!-- steps: begin (.ci/renew steps) -->"
END = "<!-- steps: end -->"


def cells(row: StepRow) -> tuple[str, ...]:
    """One row under `HEADS`, as people read it."""
    crossed = row.crossed
    return (
        row.family,
        row.generation,
        count_text(crossed),
        with_span(crossed.median, crossed.median_span) if crossed else NOTHING,
        with_span(crossed.p90, crossed.p90_span) if crossed else NOTHING,
        signed_text(crossed.bias) if crossed else NOTHING,
        _median(row.errors),
        _median(row.naive),
        f"{row.inside} of {row.banded}" if row.banded else NOTHING,
    )


def _median(errors: Errors | None) -> str:
    return size_text(errors.median) if errors else NOTHING


def coverage(found: StepFidelity) -> str:
    """`Counts 101 of 150 published steps (67 %). The others say too little …`"""
    counted = [point for point in found.points if not point.why]
    share = f" ({100 * len(counted) / len(found.points):.0f} %)" if found.points else ""
    inside = [each.inside for each in counted if each.inside is not None]
    text = f"Counts {len(counted)} of {len(found.points)} published steps{share}; the others are no "
    text += "steps, or say too little (--points)."
    if inside:
        text += (
            f" {sum(inside)} of {len(inside)} ({100 * sum(inside) / len(inside):.0f} %) lie in their bands."
        )
    return text


def broken(points: Iterable[StepError]) -> str:
    """Whether ours are faster than documents allow, or a published one is."""
    counted = [point for point in points if not point.why]
    ours = [each for each in counted if (each.model or 0.0) < (each.floor or 0.0)]
    theirs = [each for each in counted if (each.published or 0.0) < (each.floor or 0.0)]
    floor = "documents allow (what is read over the HBM, what is multiplied over the clocks)"
    said = []
    for found, whose in ((ours, "composed"), (theirs, "published")):
        names = f": {', '.join(each.id for each in found)}" if found else ""
        said.append(f"{len(found) or 'none'} of {len(counted)} {whose} steps{names}")
    return f"Faster than {floor}: {', '.join(said)}."


def few(rows: Iterable[StepRow]) -> list[str]:
    """The points of each class with under five models, left out, one line a row."""
    return [
        f"{row.family}, {row.generation}: "
        + ", ".join(f"{id} {signed_text(e)}" for id, e in row.crossed.listed.items())
        for row in rows
        if row.crossed and row.crossed.listed and row.generation != EVERYWHERE
    ]


MOVED = ("class", "generation", "models, points", "median then", "now", "points, then and now")
APART = (
    "Points that no rule was chosen by, each with its model left out, by the version before and now. "
    "`[frozen]` of published/steps.toml lists them, and no point leaves it."
)


def moved(found: StepFidelity) -> list[tuple[str, ...]]:
    """How points moved that were kept apart, a row for each class under `MOVED`."""
    apart = [point for point in found.points if point.e_frozen is not None and point.e_cross is not None]
    lines: list[tuple[str, ...]] = []
    for family, generation in dict.fromkeys((each.family, each.generation) for each in apart):
        mine = [each for each in apart if (each.family, each.generation) == (family, generation)]
        then, now = (
            of_votes((each.vote, each.id, e) for each in mine if (e := getattr(each, name)) is not None)
            for name in ("e_frozen", "e_cross")
        )
        points = ", ".join(
            f"{each.id} {signed_text(each.e_frozen or 0.0)} → {signed_text(each.e_cross or 0.0)}"
            for each in mine
        )
        lines.append((family, generation, count_text(now), _median(then), _median(now), points))
    return lines


def markdown(found: StepFidelity) -> str:
    """All of it as docs/errors.md shows it."""
    lines: Sequence[str] = (
        f"Model: {found.by} {found.version}. {MEANS}",
        "",
        broken(found.points),
        "",
        coverage(found),
        "",
        *grid(HEADS, map(cells, found.rows)),
        *folded(
            "Classes of under five models, point by point, left out",
            [f"- {each}" for each in few(found.rows)],
        ),
        "",
        APART,
        "",
        *grid(MOVED, moved(found)),
    )
    return "\n".join(lines) + "\n"
