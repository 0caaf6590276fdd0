"""Replica groups: which ranks take part together, named one by one or cut along a grid of parallelisms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from trnbench.errors import UnknownName, UsageError
from trnbench_emulator.fabric.algorithms.algorithm import NotPossible


def check_ranks(ranks: Iterable[int], count: int) -> None:
    """Raises UsageError unless all of them are among `count` ranks."""
    for rank in ranks:
        if not 0 <= rank < count:
            raise UsageError(
                f"rank {rank} is not there",
                cause=f"ranks are 0 to {count - 1}",
                try_="one of these, or --ranks core, which makes every core a rank",
            )


def check_several(ranks: int, system: str, level: str) -> None:
    """Raises NotPossible for less than two ranks: they have nothing to send."""
    if ranks < 2:
        raise NotPossible(
            "a collective needs at least 2 ranks",
            cause=f"{system} has {ranks} here, one per {level}",
            try_="--ranks core, or a system of several devices",
        )


EXAMPLE = "--group '[[0,1],[2,3]]'"


def check_groups(groups: Sequence[Sequence[int]], ranks: int) -> None:
    """Raises UsageError unless groups are equally large, have two ranks or more, and share none."""
    if not groups or len({len(group) for group in groups}) != 1 or len(groups[0]) < 2:
        sizes = ", ".join(str(size) for size in sorted({len(group) for group in groups})) or "none"
        raise UsageError(
            "replica groups must be of one size, two ranks or more",
            cause=f"sizes given: {sizes}",
            try_=EXAMPLE,
        )
    seen: set[int] = set()
    for rank in (rank for group in groups for rank in group):
        check_ranks((rank,), ranks)
        if rank in seen:
            raise UsageError(
                f"rank {rank} is in two replica groups", cause="every rank takes part once", try_=EXAMPLE
            )
        seen.add(rank)


def groups_along(sizes: Mapping[str, int], name: str, ranks: int) -> list[list[int]]:
    """Ranks that belong together along the axis `name` of a grid over all `ranks`.

    `sizes` are the group sizes of every kind of parallelism, outermost first, as in {"data": 4,
    "tensor": 16}: the last one varies fastest, so a tensor group takes neighbouring ranks.
    Raises UsageError for an axis that is not there and for sizes that do not divide the ranks.
    """
    if name not in sizes:
        raise UnknownName("group", name, sizes, try_=f"one of {', '.join(sizes)}")
    if prod(sizes.values()) != ranks or min(sizes.values()) < 1:
        shown = " × ".join(f"{size} {kind}" for kind, size in sizes.items())
        raise UsageError(
            f"{shown} does not divide {ranks} ranks",
            cause=f"the product is {prod(sizes.values())}",
            try_="group sizes whose product is the number of ranks",
        )
    kinds = list(sizes)
    stride = prod(sizes[kind] for kind in kinds[kinds.index(name) + 1 :])
    span = stride * sizes[name]
    return [
        [outer * span + place * stride + inner for place in range(sizes[name])]
        for outer in range(ranks // span)
        for inner in range(stride)
    ]
