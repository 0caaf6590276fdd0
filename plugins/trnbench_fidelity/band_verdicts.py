"""All published points and steps, each judged by a band that knows nothing of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnbench_fidelity.nearness.bands import errors
from trnbench_fidelity.nearness.coverage import Judged, judged
from trnbench_fidelity.nearness.nearby import evidence_of
from trnbench_fidelity.nearness.ranges import shipped_ranges
from trnbench_fidelity.steps.nearness import known_steps
from trnbench_fidelity.steps.validate import answered, errors_of, judged_steps
from trnbench_fidelity.validation_cache import cached_validation

if TYPE_CHECKING:
    from trnbench.registry import Registry
    from trnbench.results.fidelity import Fidelity
    from trnbench.store.cache import Cache
    from trnbench_fidelity.steps.archive import StepArchive


def judged_points(registry: Registry, cache: Cache | None) -> list[Judged]:
    """Asks the model, from the cache where nothing has changed. Raises what `validate` raises."""
    return judged_of(
        registry, cached_validation(registry, cache, with_same=False), answered(registry, (), cache)
    )


def judged_of(registry: Registry, fidelity: Fidelity, steps: dict[str, StepArchive]) -> list[Judged]:
    """Of a comparison that has just been made, and the answers to published steps."""
    family = {point.id: point.family for point in fidelity.points}
    ranges = {
        id: ends
        for generation in registry.generations.values()
        for id, ends in shipped_ranges(generation).points.items()
    }
    points = list(judged(evidence_of(registry), errors(fidelity), family, ranges))
    return points + list(judged_steps(known_steps(registry), errors_of(registry, steps), steps))
