"""Fits the constants of `[[fits]]` to published instructions and transfers.

A row of a cost table names the constant and the points that decide it; here is the grid it is searched
on. The least sum of |ln(model / published)| over the grid is taken, so that a single odd point pulls
little; of equal sums the middle. Constants are fitted one by one, in rounds, until nothing moves. Who
answers for a point is handed in: it is what `trnbench validate` holds against the published figure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

ROUNDS = 6

Values = Mapping[str, float]
Deviation = Callable[[str, Values], float]
"""ln(model / published) of a point, by its id, with these values of the constants."""


class Grid(msgspec.Struct, frozen=True):
    low: float
    high: float
    step: float

    def values(self) -> list[float]:
        count = round((self.high - self.low) / self.step)
        return [round(self.low + i * self.step, 9) for i in range(count + 1)]


GRIDS: dict[str, Grid] = {
    "dma.descriptor_ns": Grid(0, 20, 0.1),
    "dma.transfer_ns": Grid(0, 400, 2),
    "dma.transfer_latency_ns": Grid(600, 1200, 2),
    "instruction.fixed_ns": Grid(80, 320, 1),
}


class Fitted(msgspec.Struct, frozen=True, kw_only=True):
    """`held_out[id]`: what the constant would be, had that point not been published."""

    value: float
    held_out: dict[str, float]


def fit(points: Mapping[str, Sequence[str]], deviation: Deviation) -> dict[str, Fitted]:
    """The constants by name. `points`: of each constant, the ids that decide it.

    Raises `KeyError` for a constant without a grid.
    """
    grids = {name: GRIDS[name].values() for name in points}
    values = {name: grid[len(grid) // 2] for name, grid in grids.items()}
    errors: dict[str, dict[str, list[float]]] = {}
    for _ in range(ROUNDS):
        before = dict(values)
        for name, ids in points.items():
            errors[name] = {
                point: [abs(deviation(point, {**values, name: value})) for value in grids[name]]
                for point in ids
            }
            values[name] = _least(grids[name], [errors[name][point] for point in ids])
        if values == before:
            break
    return {
        name: Fitted(
            value=values[name],
            held_out={
                left: _least(grids[name], [errors[name][point] for point in ids if point != left])
                for left in ids
                if len(ids) > 1
            },
        )
        for name, ids in points.items()
    }


def _least(grid: Sequence[float], errors: Sequence[Sequence[float]]) -> float:
    """Where the errors of all points together are least; the middle, where several are."""
    sums = [round(sum(column), 9) for column in zip(*errors, strict=True)]
    best = [at for at, total in enumerate(sums) if total == min(sums)]
    return grid[best[len(best) // 2]]
