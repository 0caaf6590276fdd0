"""The published points of the installed generations, and what the model has seen of each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from trnbench.errors import FactError
from trnbench.registry.files import Files
from trnbench.results.fidelity import Comparison, Honesty, Use
from trnbench_fidelity.bench import fits_of
from trnbench_fidelity.load import load_published
from trnbench_fidelity.point import PublishedPoint
from trnbench_fidelity.vote import vote

if TYPE_CHECKING:
    from trnbench.registry import Registry

_READERS = tuple(
    f"trnbench_fidelity.{name}" for name in ("load", "grouped", "point", "kernel_source", "family")
)

Published = Mapping[str, tuple[PublishedPoint, ...]]
"""Generation → its points."""


def published_points(
    registry: Registry, generations: Collection[str] = ()
) -> dict[str, tuple[PublishedPoint, ...]]:
    """Generation → its points, for those that bring a file of them.

    Raises what `load_published` raises, and `FactError` when two files have a point of one id.
    """
    points: dict[str, tuple[PublishedPoint, ...]] = {}
    owners: dict[str, Path] = {}
    for name, generation in registry.generations.items():
        path = generation.published
        if path is None or (generations and name not in generations):
            continue
        points[name] = _read(registry, path, name)
        for point in points[name]:
            if point.id in owners:
                raise FactError(
                    f"{path}: id {point.id!r} is used twice",
                    cause=f"{owners[point.id]} has it too",
                    try_="give each point an id of its own",
                )
            owners[point.id] = path
    return points


def _read(registry: Registry, path: Path, generation: str) -> tuple[PublishedPoint, ...]:
    return registry.reading.other(
        f"published points of {generation}",
        Files(path),
        tuple[PublishedPoint, ...],
        lambda: load_published(path, generation),
        _READERS,
    )


def honesty(point: PublishedPoint, *, fitted: bool) -> Honesty:
    """What the model has seen of the point; of two, the worse."""
    return Honesty.FITTED if fitted else Honesty.SHAPED if point.shaped else Honesty.UNTOUCHED


def seen_as(row: Comparison, points: Mapping[str, PublishedPoint], registry: Registry) -> Comparison:
    """The row with vote, honesty and span as the published points and cost files say today.

    Raises `KeyError` for a row whose point is not among `points` (by id).
    """
    point = points[row.id]
    fitted = bool(fits_of(registry.costs(point.generation), point))
    span = span_of(point, points) if row.use is Use.CONTRADICTED else None
    seen = str(honesty(point, fitted=fitted))
    return msgspec.structs.replace(row, vote=vote(point), honesty=seen, span=span)


def span_of(point: PublishedPoint, points: Mapping[str, PublishedPoint]) -> tuple[float, float]:
    """Lowest and highest value that the sources which contradict each other print."""
    told = [points[id].value for id in (point.id, *point.contradicts)]
    values = [value for value in told if value is not None]
    return min(values), max(values)
