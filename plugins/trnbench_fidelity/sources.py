"""What public kernels, run from their own sources, say of the model: kept as data beside the points of each
generation, since those sources are not part of this repository and whoever repeats it has to fetch them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from trnbench.errors import BadInput
from trnbench.facts.table import Place, read_toml
from trnbench.results.fidelity import Comparison, Fidelity, PublicKernels, Use
from trnbench.store.answers import answers_of
from trnbench_fidelity.answers import Row, comparison_of
from trnbench_fidelity.bench import fits_of
from trnbench_fidelity.point import Usable
from trnbench_fidelity.published_points import compared, published_points
from trnbench_fidelity.statistics import row_of, uses_of
from trnbench_fidelity.summary import coverage
from trnbench_fidelity.tables import HEADS, cells, folded, grid

if TYPE_CHECKING:
    from trnbench.generation import Generation
    from trnbench.registry import Registry

SECTION = "public_kernels"
"""Of a generation's answers: what public kernels gave when they were last run."""

CHECKOUTS = "sources.toml"
"""In the folder of --kernels: which repositories were fetched, at which commit, of which day."""

BEGIN = "<!-- sources: begin (trnbench validate sources --kernels FOLDER --format md) -->"
END = "<!-- sources: end -->"
"""Between these two lines docs/errors.md has what `markdown` makes of `kept`."""


class Checkout(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One fetched repository; `day` is that of the commit, `note` what is to be known of the copy."""

    repository: str
    commit: str
    day: str
    note: str = ""


class PublicRows(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The section of a generation's answers: `Sources` by point, without points that have no kernel."""

    day: str
    by: str
    version: str
    checkouts: tuple[Checkout, ...]
    points: dict[str, Row]
    assumptions: str = ""


class Sources(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
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


def of_fidelity(fidelity: Fidelity, fetched: Iterable[Checkout], day: str, assumptions: str = "") -> Sources:
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


def by_generation(found: Sources) -> dict[str, Sources]:
    """The same, apart for each generation that has a point."""
    return {
        name: msgspec.structs.replace(
            found, points=tuple(point for point in found.points if point.generation == name)
        )
        for name in dict.fromkeys(point.generation for point in found.points)
    }


def public_rows(generation: Generation) -> PublicRows | None:
    """What the generation keeps. Raises `BadInput` for answers that hold something else."""
    answers = answers_of(generation)
    return answers.section(SECTION, PublicRows) if answers is not None else None


def kept(registry: Registry, generations: Collection[str] = ()) -> Sources | None:
    """What the installed generations keep, all of them unless some are named; None where none keeps any.

    Who votes, what the model has seen of a point and what contradicts it are as published points say today.

    Raises `BadInput` for a file that holds something else, or when they are not of one run.
    """
    sources: Sources | None = None
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
        if sources is not None and (rows.by, rows.version) != (sources.by, sources.version):
            raise BadInput(
                f"public kernels of {name} were run by {rows.by} {rows.version}, "
                f"another generation's by {sources.by} {sources.version}",
                cause="only one of them was made anew",
                try_="run the public kernels of all generations again: docs/fidelity.md",
            )
        fetched = dict.fromkeys((*(sources.checkouts if sources else ()), *rows.checkouts))
        points = (*(sources.points if sources else ()), *_comparisons(registry, name, rows.points))
        sources = Sources(
            day=sources.day if sources else rows.day,
            by=rows.by,
            version=rows.version,
            checkouts=tuple(fetched),
            points=points,
        )
    return sources


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
    return tuple(_summary(name, each) for name, each in by_generation(found).items())


def _summary(name: str, found: Sources) -> PublicKernels:
    return PublicKernels(
        generation=name,
        by=found.by,
        version=found.version,
        day=found.day,
        row=row_of("public", "Public kernels", name, found.points),
    )


def not_run(points: Iterable[Comparison]) -> dict[str, list[str]]:
    """Why points have no time of the model → their ids, the reason of most points first."""
    found: dict[str, list[str]] = {}
    for point in points:
        if point.emulated is None:
            found.setdefault(point.how.partition(" (")[0], []).append(point.id)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def markdown(found: Sources) -> str:
    """One row per generation, then which points were not run, then what the kernels came from."""
    rows = [summary.row for summary in summaries(found)]
    under = f" under the assumptions {found.assumptions}" if found.assumptions else ""
    lines = [
        f"Public kernels, run from their own sources by {found.by} {found.version} on {found.day}{under}; "
        "only numbers that a publication says it set in them are set. The sources are not part of this "
        "repository: repeating it takes the commits below. Columns are those of the table above.",
        "",
        coverage(uses_of(found.points)),
        "",
        *grid(HEADS, map(cells, rows)),
    ]
    reasons = not_run(found.points).items()
    lines += folded("Not run, and why", [f"- {why}: {', '.join(ids)}" for why, ids in reasons])
    if found.checkouts:
        lines += ["", f"Sources: {'; '.join(map(_named, found.checkouts))}."]
    return "\n".join(lines) + "\n"


def _named(of: Checkout) -> str:
    return f"{of.repository} {of.commit[:12]} ({', '.join(filter(None, (of.day, of.note)))})"
