"""Positions in a box of integer coordinates, numbered row by row (the last coordinate is fastest)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from trnbench.errors import TopologyError


def size(dims: Sequence[int]) -> int:
    """Number of positions. Raises `TopologyError` when a side is not a positive whole number."""
    if not dims or any(side < 1 for side in dims):
        shown = "×".join(map(str, dims)) or "none"
        raise TopologyError(
            f"sides {shown} make no torus",
            cause="every side must be 1 or more",
            try_='for example sides (4, 4), or a size like "trn1-ultracluster:64"',
        )
    return prod(dims)


def positions(dims: Sequence[int]) -> list[tuple[int, ...]]:
    """Every coordinate, in the order of its index."""
    size(dims)
    return list(product(*(range(side) for side in dims)))


def index(coord: Sequence[int], dims: Sequence[int]) -> int:
    """Where `coord` stands in `positions(dims)`."""
    found = 0
    for at, side in zip(coord, dims, strict=True):
        found = found * side + at
    return found


def torus_neighbours(dims: tuple[int, ...]) -> tuple[tuple[int, int, int], ...]:
    """(position, position of a neighbour, axis) for every step on a torus: from each position those towards
    lower coordinates, axis by axis, then those towards higher ones. A side of 2 has one, a side of 1 none.
    """
    return tuple(
        (here, index(step(coord, axis, by, dims), dims), axis)
        for here, coord in enumerate(positions(dims))
        for by in (-1, 1)
        for axis, side in enumerate(dims)
        if side > 2 or (side == 2 and by == -1)
    )


def step(coord: Sequence[int], axis: int, by: int, dims: Sequence[int]) -> tuple[int, ...]:
    """The coordinate `by` steps along `axis`, wrapping around."""
    moved = list(coord)
    moved[axis] = (moved[axis] + by) % dims[axis]
    return tuple(moved)
