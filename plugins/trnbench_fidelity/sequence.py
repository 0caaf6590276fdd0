"""Sequences: several published versions of one kernel, in the order of publication.

Whether the model sees which version is faster, and by how much, is a question that the error of each
alone does not answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from trnbench.facts.table import Place, near, read_content
from trnbench.results.error_text import NOTHING, signed_text, size_text
from trnbench.results.fidelity import Comparison, Step
from trnbench.results.statistics import median
from trnbench_fidelity.grouped import tables_of
from trnbench_fidelity.point import PublishedPoint

SMALLEST = math.log(1.03)
"""Published changes up to 3 % are no step: they are within what repeated measurements differ."""


class Sequence(msgspec.Struct, frozen=True, kw_only=True):
    """`points` are ids in the order in which the source publishes the versions."""

    name: str
    points: tuple[str, ...]
    source: str
    generation: str = ""


def load_sequences(path: Path, points: Iterable[PublishedPoint]) -> tuple[Sequence, ...]:
    """The [[sequence]] tables of a file of published points, whose points these are.

    Raises `FactError` for an unknown or missing key, a name used twice, fewer than two points, a point that
    is not in the file or named twice, and points of two quantities.
    """
    known = {each.id: each for each in points}
    place = Place(path)
    sequences: dict[str, Sequence] = {}
    for where, row in place.tables(tables_of(path, read_content(path)), "sequence"):
        where.check(row, {"name": str, "points": list, "source": str}, ("name", "points", "source"))
        name, ids = row["name"], tuple(row["points"])
        where = place.at(f"sequence {name!r}")
        if name in sequences:
            raise where.error("is there twice", try_="give each sequence a name of its own")
        if len(set(ids)) < 2 or len(set(ids)) != len(ids):
            raise where.error("needs two points or more, each once", try_='points = ["before", "after"]')
        for id in ids:
            if id not in known:
                raise where.error(f"names {id!r}, which is no point of the file", cause=near(id, known))
        quantities = sorted({str(known[id].quantity) for id in ids})
        if len(quantities) > 1:
            raise where.error(f"mixes {' and '.join(quantities)}", try_="points of one quantity")
        sequences[name] = Sequence(
            name=name, points=ids, source=row["source"], generation=known[ids[0]].generation
        )
    return tuple(sequences.values())


def steps(sequence: Sequence, rows: Mapping[str, Comparison]) -> list[Step]:
    """Its steps whose published change is above 3 %, from the comparisons of its points by id.

    Points without a published value make no step; those without a model's answer one that is not covered.
    """
    compared = []
    for start, end in zip(sequence.points, sequence.points[1:], strict=False):
        before, after = rows.get(start), rows.get(end)
        if before is None or after is None or not before.published or not after.published:
            continue
        change = math.log(after.published / before.published) * (1 if after.unit == "s" else -1)
        if abs(change) <= SMALLEST:
            continue
        answered = before.e is not None and after.e is not None
        compared.append(
            Step(
                sequence=sequence.name,
                generation=sequence.generation,
                source=sequence.source,
                start=start,
                end=end,
                published=change,
                model=change + after.e - before.e if answered else None,  # type: ignore[operator]
            )
        )
    return compared


def order_text(steps: Iterable[Step]) -> str:
    """`order kept in 14 of 15 steps, ratio off by 7.3 % in the median; 3 not covered`."""
    all_ = list(steps)
    covered = [each for each in all_ if each.model is not None]
    kept = sum(each.in_order is True for each in covered)
    text = f"order kept in {kept} of {len(covered)} steps"
    if covered:
        text += (
            f", ratio off by {size_text(median([abs(each.off or 0.0) for each in covered]))} in the median"
        )
    missing = len(all_) - len(covered)
    return text + (f"; {missing} not covered" if missing else "")


def by_order(steps: Iterable[Step]) -> list[Step]:
    """Out of order first, then by how far the ratio is off, then those that are not covered."""
    return sorted(
        steps, key=lambda each: (each.model is None, each.in_order is True, -abs(each.off or 0.0), each.end)
    )


STEPS = ("from", "to", "published", "model", "ratio off", "order")


def step_cells(step: Step) -> tuple[str, ...]:
    """One row under `STEPS`: changes of the time, and ratio of the model / published ratio."""
    cells = (NOTHING, NOTHING, "not covered")
    if step.model is not None and step.off is not None:
        order = "kept" if step.in_order else "turned round"
        cells = (signed_text(step.model), signed_text(step.off), order)
    return (step.start, step.end, signed_text(step.published), *cells)
