"""The published points of the installed generations, and what the model has seen of each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from trnbench.errors import FactError
from trnbench.facts.files import Files
from trnbench.results.fidelity import Comparison, Honesty, Use
from trnbench_fidelity.load import load_published
from trnbench_fidelity.point import PublishedPoint, vote
from trnbench_fidelity.statistics import time_error

if TYPE_CHECKING:
    from trnbench.registry import Registry

_READERS = tuple(f"trnbench_fidelity.{name}" for name in ("load", "point", "kernel_source", "family"))

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
        path = generation.points_file
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


def compared(
    point: PublishedPoint, use: Use, emulated: float | None = None, *, how: str = "", fitted: bool = False
) -> Comparison:
    """The point beside the model's answer, in the unit of its quantity; without `e_cross`."""
    return Comparison(
        id=point.id,
        family=point.family,
        generation=point.generation,
        use=use,
        vote=vote(point),
        honesty=str(honesty(point, fitted=fitted)),
        quantity=str(point.quantity),
        unit=point.quantity.unit,
        published=point.value,
        emulated=emulated,
        e=error_of(point, emulated),
        how=how,
        source=point.source,
        confidence=point.confidence,
    )


def error_of(point: PublishedPoint, emulated: float | None) -> float | None:
    """ln(model time / published time); None where there is no answer or nothing to compare it with."""
    if emulated is None or point.value is None:
        return None
    return time_error(emulated, point.value, lower_is_better=point.quantity.lower_is_better)


def honesty(point: PublishedPoint, *, fitted: bool) -> Honesty:
    """What the model has seen of the point; of two, the worse."""
    return Honesty.FITTED if fitted else Honesty.SHAPED if point.shaped else Honesty.UNTOUCHED


def span_of(point: PublishedPoint, points: Mapping[str, PublishedPoint]) -> tuple[float, float]:
    """Lowest and highest value that the sources which contradict each other print."""
    told = [points[id].value for id in (point.id, *point.contradicts)]
    values = [value for value in told if value is not None]
    return min(values), max(values)
