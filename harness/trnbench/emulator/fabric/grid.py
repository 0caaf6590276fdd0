"""Ranks on a grid of parallelisms: who takes part in the collectives of each."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from trnbench.errors import UnknownName, UsageError


def groups_along(sizes: Mapping[str, int], name: str, ranks: int) -> list[list[int]]:
    """Ranks that belong together along the axis `name` of a grid over all `ranks`.

    `sizes` are the group sizes of every kind of parallelism, outermost first, as in {"data": 4,
    "tensor": 16}: the last one varies fastest, so a tensor group takes neighbouring ranks.
    Raises UsageError for an axis that is not there and for sizes that do not divide the ranks.
    """
    if name not in sizes:
        raise UnknownName("group", name, sizes, try_=f"one of {', '.join(sizes)}")
    if prod(sizes.values()) != ranks or min(sizes.values()) < 1:
        shown = " × ".join(f"{n} {k}" for k, n in sizes.items())
        raise UsageError(
            f"{shown} does not divide {ranks} ranks",
            cause=f"the product is {prod(sizes.values())}",
            try_="group sizes whose product is the number of ranks",
        )
    names = list(sizes)
    inner = prod(sizes[each] for each in names[names.index(name) + 1 :])
    span = inner * sizes[name]
    return [
        [outer * span + k * inner + i for k in range(sizes[name])]
        for outer in range(ranks // span)
        for i in range(inner)
    ]
