"""The model's answers to published points, as they were when it was last compared.

A run would otherwise emulate them before its first case. `trnbench validate` never reads them: whoever works
on the model asks it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from trnbench.errors import BadInput
from trnbench.results.fidelity import Comparison, Fidelity, Use
from trnbench_fidelity.point import Usable
from trnbench_fidelity.published import published_points
from trnbench_fidelity.shipped import Shipped, outdated, stamped
from trnbench_fidelity.shipped import read as read_shipped

if TYPE_CHECKING:
    from trnbench.registry import Registry

ASKED = frozenset((Use.EMULATED, Use.BOUND, Use.CONTRADICTED, Use.NOT_EMULATED))
"""Of all other points the file of points itself says why the model was not asked."""


def read(path: Path) -> Shipped[Comparison]:
    """Raises `BadInput` for what holds no rows."""
    return read_shipped(path, Comparison, "a comparison")


def made(registry: Registry, fidelity: Fidelity) -> dict[str, Shipped[Comparison]]:
    """Generation → its rows of a comparison that has just been made of all points.

    Not those of public kernels, which need their sources (`fidelity.sources`).
    """
    answers = {each.id: each for each in fidelity.points if each.use in ASKED}
    return {
        name: stamped(
            registry,
            name,
            (
                answers[point.id]
                for point in points
                if point.id in answers and point.usable is not Usable.SOURCE
            ),
        )
        for name, points in published_points(registry).items()
    }


def shipped(registry: Registry, generations: Iterable[str]) -> dict[str, Comparison]:
    """By id, the rows of `generations` that are shipped and hold; points without one are to be emulated."""
    rows: dict[str, Comparison] = {}
    for name in generations:
        path = registry.generations[name].comparisons
        if path is None:
            continue
        try:
            snapshot = read(path)
        except BadInput:
            continue
        if not outdated(registry, name, snapshot):
            rows |= {each.id: each for each in snapshot.rows}
    return rows
