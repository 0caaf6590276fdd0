"""Errors of composed steps as tables and sentences: the same for terminal and page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trnbench.results.expectation import NOTHING, signed_text, size_text
from trnbench.results.fidelity import Errors
from trnbench_fidelity.statistics import of_votes
from trnbench_fidelity.steps.errors import EVERYWHERE, StepError, StepFidelity, StepRow
from trnbench_fidelity.tables import count_text, grid, with_span

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
        "",
        "<details><summary>Classes of under five models, point by point, left out</summary>",
        "",
        *(f"- {each}" for each in few(found.rows)),
        "",
        "</details>",
        "",
        APART,
        "",
        *grid(MOVED, moved(found)),
    )
    return "\n".join(lines) + "\n"
