"""Constants of the core's cost tables, fitted again with the adapters that `trnbench validate` uses."""

from __future__ import annotations

from functools import lru_cache
from math import log
from typing import TYPE_CHECKING

from renewal.core_fit import Fitted, fit
from trnbench.reference import resolve
from trnbench_emulator.core.recording import Recorder
from trnbench_fidelity.bench import Bench
from trnbench_fidelity.point import FAMILIES
from trnbench_fidelity.published_points import published_points

if TYPE_CHECKING:
    from renewal.core_fit import Values
    from trnbench.registry import Registry


def refit(registry: Registry, generation: str) -> dict[str, Fitted]:
    """What `[[fits]]` of a generation should say, from the points that its rows name.

    Raises `KeyError` for a constant that no grid is known for, and for a point that is not there.
    """
    points = {each.id: each for each in published_points(registry, (generation,))[generation]}
    rows = {fit["name"]: fit["points"] for fit in registry.costs(generation).get("fits", ())}

    recorder = Recorder()

    @lru_cache(maxsize=2)
    def bench(values: tuple[tuple[str, float], ...]) -> Bench:
        return Bench(registry, values=dict(values), recorder=recorder)

    def deviation(id: str, values: Values) -> float:
        point = points[id]
        assert point.value is not None
        found = resolve(FAMILIES[point.family].adapter)(point, bench(tuple(values.items())))
        return log(found.value / point.value)

    return fit(rows, deviation)
