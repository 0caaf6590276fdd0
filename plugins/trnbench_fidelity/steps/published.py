"""The published steps of the installed generations."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from trnbench.errors import FactError
from trnbench_fidelity.steps.load import load_steps
from trnbench_fidelity.steps.point import PublishedSteps

if TYPE_CHECKING:
    from trnbench.registry import Registry


def published_steps(registry: Registry, generations: Collection[str] = ()) -> dict[str, PublishedSteps]:
    """Generation → its steps, for those that bring a file of them.

    Raises what `load_steps` raises, and `FactError` when two files have a point of one id.
    """
    by_generation: dict[str, PublishedSteps] = {}
    owners: dict[str, str] = {}
    for name, generation in registry.generations.items():
        path = generation.steps_file
        if path is None or (generations and name not in generations):
            continue
        by_generation[name] = load_steps(path, name)
        for point in by_generation[name].points:
            if point.id in owners:
                raise FactError(
                    f"{path}: id {point.id!r} is used twice",
                    cause=f"{owners[point.id]} has it too",
                    try_="give each point an id of its own",
                )
            owners[point.id] = str(path)
    return by_generation
