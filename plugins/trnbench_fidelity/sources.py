"""The model's answers to published points that generations ship: a run takes them and need not ask.

What published points, facts and costs say themselves is read from there. `trnbench validate` takes of these
only what public kernels gave, whose sources are not part of this repository.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from trnbench import BadInput, Generation
from trnbench.facts.table import Place, read_toml
from trnbench.record import Record
from trnbench.results.fidelity import Comparison, Fidelity, OwnProduct, PublicKernels, Use
from trnbench.store.answers import Answers, answers_of, changed, files_of
from trnbench_fidelity.bench import Bench, fits_of, lineage
from trnbench_fidelity.point import PublishedPoint, Usable
from trnbench_fidelity.published_points import compared, published_points, span_of
from trnbench_fidelity.statistics import row_of

if TYPE_CHECKING:
    from trnbench.registry import Registry


COMPARISONS, PRODUCTS = "comparisons", "products"
"""Sections: point → row, and point → FLOP/s of our product of its shape."""

_NAMED = 3
"""Files that are named where several have changed."""


class Row(Record, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the model said of a point, in the unit of its quantity. `e_cross` is left out where it is e."""

    use: Use = Use.EMULATED
    emulated: float | None = None
    e_cross: float | msgspec.UnsetType | None = msgspec.UNSET
    how: str = ""
    active: dict[str, float] = {}


def comparison_of(
    row: Row, point: PublishedPoint, points: Mapping[str, PublishedPoint], *, fitted: bool
) -> Comparison:
    """The comparison that the row was kept of, as published points say today."""
    whole = compared(point, row.use, row.emulated, how=row.how, fitted=fitted)
    return replace(
        whole,
        active=row.active,
        e_cross=whole.e if row.e_cross is msgspec.UNSET else row.e_cross,
        span=span_of(point, points) if row.use is Use.CONTRADICTED else None,
    )


def shipped_comparisons(registry: Registry, generations: Iterable[str]) -> dict[str, Comparison]:
    """By id, what `generations` ship and what holds; points without one are to be emulated."""
    comparisons: dict[str, Comparison] = {}
    for name in generations:
        try:
            answers = answers_of(registry.generations[name])
            rows = answers.section(COMPARISONS, dict[str, Row]) if answers is not None else None
        except BadInput:  # the model is asked
            continue
        if answers is None or not rows or outdated(registry, answers):
            continue
        points = {point.id: point for point in published_points(registry, (name,))[name]}
        costs = registry.costs(name)
        for id, row in rows.items():
            if id in points:
                fitted = row.emulated is not None and bool(fits_of(costs, points[id]))
                comparisons[id] = comparison_of(row, points[id], points, fitted=fitted)
    return comparisons


def shipped_products(registry: Registry, generation: str) -> tuple[tuple[OwnProduct, ...], str]:
    """Our products beside published ones as they are shipped, and why there are none.

    The reason is "" where there are some, or where the generation ships none.
    """
    try:
        answers = answers_of(registry.generations[generation])
        rates = answers.section(PRODUCTS, dict[str, float]) if answers is not None else None
    except BadInput as error:
        return (), f"{error.what}. {error.cause}"
    if answers is None or rates is None:
        return (), ""
    why = outdated(registry, answers)
    if why:
        return (), why
    from trnbench_fidelity.own_products import products

    return products(registry, generation, rates), ""


def outdated(registry: Registry, answers: Answers) -> str:
    """Why the answers do not hold any more; "" while model, facts, costs and points say what they did.

    The model's code is known by its version alone: a test of ours compares every shipped row with the model.
    """
    model = Bench(registry).model()
    if (answers.by, answers.version) != model:
        return f"Its answers are of {answers.by} {answers.version}, this run is of {' '.join(model)}"
    names = changed(answers.files, files_of(lineage(registry, answers.generation)))
    if not names:
        return ""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    have = "has" if len(names) == 1 else "have"
    return f"{', '.join(names[:_NAMED])}{more} {have} changed since it was timed"


SECTION = "public_kernels"
"""Of a generation's answers: what public kernels gave when they were last run."""

CHECKOUTS = "sources.toml"
"""In the folder of --kernels: which repositories were fetched, at which commit, of which day."""


class Checkout(Record, kw_only=True, forbid_unknown_fields=True):
    """One fetched repository; `day` is that of the commit, `note` what is to be known of the copy."""

    repository: str
    commit: str
    day: str
    note: str = ""


class PublicRows(Record, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The section of a generation's answers: `Sources` by point, without points that have no kernel."""

    day: str
    by: str
    version: str
    checkouts: tuple[Checkout, ...]
    points: dict[str, Row]
    assumptions: str = ""


class Sources(Record, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """`day`: when it was made, by which model; `points` are all that were measured with a public kernel.
    `assumptions`: what the compiler was not taken to do, against the shipped model; what was made under some
    is never kept beside a generation.
    """

    day: str
    by: str
    version: str
    checkouts: tuple[Checkout, ...]
    points: tuple[Comparison, ...]
    assumptions: str = ""


def checkouts(folder: Path) -> tuple[Checkout, ...]:
    """The entries of `sources.toml` in the folder; none where it is missing.

    Raises `FactError` for an entry without repository, commit or day.
    """
    path = folder / CHECKOUTS
    if not path.is_file():
        return ()
    place = Place(path)
    found = []
    for where, row in place.tables(read_toml(path), "source"):
        must = ("repository", "commit", "day")
        where.check(row, dict.fromkeys((*must, "note"), str), must)
        found.append(Checkout(**row))
    return tuple(found)


def of_fidelity(fidelity: Fidelity, fetched: Iterable[Checkout], day: str, assumptions: str) -> Sources:
    """What is kept of a comparison of `validate(…, sources=True)`."""
    points = tuple(point for point in fidelity.points if point.use is not Use.SAME_OPERATION)
    return Sources(
        day=day,
        by=fidelity.by,
        version=fidelity.version,
        checkouts=tuple(fetched),
        points=points,
        assumptions=assumptions,
    )


def as_json(found: Sources) -> str:
    """What `.ci/renew public` takes the section of each generation's answers from."""
    return msgspec.json.format(msgspec.json.encode(found), indent=1).decode() + "\n"


def public_rows(generation: Generation) -> PublicRows | None:
    """What the generation keeps. Raises `BadInput` for answers that hold something else."""
    answers = answers_of(generation)
    return answers.section(SECTION, PublicRows) if answers is not None else None


def kept(registry: Registry, generations: Collection[str] = ()) -> Sources | None:
    """What the installed generations keep, all of them unless some are named; None where none keeps any.

    Who votes, what the model has seen of a point and what contradicts it are as published points say today.

    Raises `BadInput` for a file that holds something else, or when they are not of one run.
    """
    first: PublicRows | None = None
    fetched: dict[Checkout, None] = {}
    points: list[Comparison] = []
    for name, generation in registry.generations.items():
        if generations and name not in generations:
            continue
        rows = public_rows(generation)
        if rows is None:
            continue
        if rows.assumptions:
            raise BadInput(
                f"public kernels of {name} were run under the assumptions {rows.assumptions}",
                cause="what is kept beside a generation is of the shipped model",
                try_="run the public kernels again without --assume: docs/fidelity.md",
            )
        first = first or rows
        if (rows.by, rows.version) != (first.by, first.version):
            raise BadInput(
                f"public kernels of {name} were run by {rows.by} {rows.version}, "
                f"another generation's by {first.by} {first.version}",
                cause="only one of them was made anew",
                try_="run the public kernels of all generations again: docs/fidelity.md",
            )
        fetched |= dict.fromkeys(rows.checkouts)
        points += _comparisons(registry, name, rows.points)
    if first is None:
        return None
    return Sources(
        day=first.day,
        by=first.by,
        version=first.version,
        checkouts=tuple(fetched),
        points=tuple(points),
    )


def _comparisons(registry: Registry, generation: str, rows: Mapping[str, Row]) -> Iterator[Comparison]:
    """Of every point that was measured with a public kernel, in the order of the points."""
    costs = registry.costs(generation)
    points = {each.id: each for each in published_points(registry, (generation,)).get(generation, ())}
    for id, point in points.items():
        if point.usable is not Usable.SOURCE or point.value is None:
            continue
        fitted = bool(fits_of(costs, point))
        if id in rows:
            yield comparison_of(rows[id], point, points, fitted=fitted)
        elif point.no_kernel:
            yield compared(point, Use.NO_KERNEL, how=point.no_kernel, fitted=fitted)


def summaries(found: Sources) -> tuple[PublicKernels, ...]:
    """One row per generation."""
    return tuple(
        PublicKernels(
            generation=name,
            by=found.by,
            version=found.version,
            day=found.day,
            row=row_of(
                "public", "Public kernels", name, [each for each in found.points if each.generation == name]
            ),
        )
        for name in dict.fromkeys(point.generation for point in found.points)
    )
