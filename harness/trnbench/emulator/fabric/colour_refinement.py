"""Which flows cannot be told apart, by refining colours until nothing new is seen.

Classes are the coarsest equitable partition of flows, resources and ranks (colour refinement, as in
Weisfeiler and Leman 1968; Paige and Tarjan, "Three partition refinement algorithms", SIAM J. Comput. 16,
1987): members of a class have the same size, use the same amounts of the same classes of resources, wait
for the same classes of flows, and are met on them by the same classes. Max–min shares, starts and arrivals
depend on nothing else, so every member does what the one that is simulated does. No translation of the
network is needed: an uneven network merely has more classes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trnbench.emulator.fabric.equivalence import Classes, Pattern
from trnbench.emulator.fabric.maxmin import Floats, Indices

Colours = NDArray[np.uint64]

MOST_PATTERNS = 400_000
"""Flows of all steps, repetitions not counted, above which no classes are looked for: some seconds."""

OFTEN = 4
"""Refinements after which it is looked whether there are too many classes already."""


def classes_of(
    patterns: Sequence[Pattern],
    times: Sequence[tuple[int, ...]],
    capacity: Floats,
    ranks: int,
    late: Sequence[int] = (),
    *,
    waiting: bool = True,
    enough: Callable[[Mapping[tuple[int, int], int]], bool] | None = None,
) -> Classes | None:
    """`times[c]`: repetitions of the steps of chain c; `late[r]`: ticks at which rank r begins. Where nobody
    is `waiting`, all flows begin at once and nothing hangs on who sends to whom.

    `enough`: whether so many classes of flows in every (shape, step) are too many already; then None, for
    there are more with every refinement.
    """
    shapes_seen: dict[tuple[int, ...], int] = {}
    shapes = tuple(shapes_seen.setdefault(each, len(shapes_seen)) for each in times)
    lengths = [len(p.resources) for p in patterns]
    flow = np.repeat(np.arange(len(patterns)), lengths)
    resource = np.concatenate([p.resources for p in patterns])
    weight = np.round(np.concatenate([p.weights for p in patterns]), 12)
    kinds = np.array([(shapes[p.chain], p.step, p.size, p.latency) for p in patterns])
    of_flow = _rows_numbered(kinds).astype(np.uint64)
    of_resource = _ordered(np.unique(capacity, return_inverse=True)[1])
    begins = np.tile(np.array(late or [0] * ranks), len(times))
    shape_of_rank = np.repeat(np.array(shapes), ranks)
    of_rank = _rows_numbered(np.stack([begins, shape_of_rank], axis=1)).astype(np.uint64)
    share = _ordered(np.unique(weight, return_inverse=True)[1])
    at_resource, at_flow = Sums(resource, len(capacity)), Sums(flow, len(patterns))
    if waiting:
        src = np.array([p.chain * ranks + p.src for p in patterns])
        dst = np.array([p.chain * ranks + p.dst for p in patterns])
        at_src, at_dst = Sums(src, len(of_rank)), Sums(dst, len(of_rank))
    counted = 0
    for refined in count():
        if enough is not None and refined % OFTEN == OFTEN - 1:
            first = np.unique(of_flow, return_index=True)[1]
            if enough(Counter((shapes[patterns[i].chain], patterns[i].step) for i in first)):
                return None
        on_resource = at_resource.of(_mixed(of_flow[flow], share, 1))
        on_flow = at_flow.of(_mixed(of_resource[resource], share, 2))
        if waiting:
            on_rank = at_src.of(_mixed(of_flow, 0, 3))
            on_rank += at_dst.of(_mixed(of_flow, 0, 4))
            on_flow += _mixed(of_rank[src], 0, 5) + _mixed(of_rank[dst], 0, 6)
            of_rank = _mixed(of_rank, on_rank, 7)
        # Finer than before: what was unlike stays so.
        of_flow = _mixed(of_flow, on_flow, 7)
        of_resource = _mixed(of_resource, on_resource, 7)
        found = _different(of_flow) + _different(of_resource) + _different(of_rank)
        if found == counted:
            break
        counted = found
    return Classes(
        flow=np.unique(of_flow, return_inverse=True)[1].reshape(-1),
        resource=np.unique(of_resource, return_inverse=True)[1].reshape(-1),
        rank=np.unique(of_rank, return_inverse=True)[1].reshape(-1),
        patterns=tuple(patterns),
        shapes=shapes,
        times=tuple(shapes_seen),
    )


def _mixed(colour: Colours, other: Colours | int, salt: int) -> Colours:
    """Colours as 64 random bits (splitmix64), so that sums tell multisets apart.

    Two different ones among a million agree by chance once in some ten million calls.
    """
    with np.errstate(over="ignore"):
        bits = colour * np.uint64(0x9E3779B97F4A7C15)
        bits += np.asarray(other, dtype=np.uint64) * np.uint64(0xD1B54A32D192ED03) + np.uint64(salt)
        bits ^= bits >> np.uint64(30)
        bits *= np.uint64(0xBF58476D1CE4E5B9)
        bits ^= bits >> np.uint64(27)
        bits *= np.uint64(0x94D049BB133111EB)
        bits ^= bits >> np.uint64(31)
        return bits


def _different(colours: Colours) -> int:
    """How many there are."""
    ordered = np.sort(colours)
    return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + 1


def _ordered(numbers: NDArray[Any]) -> Colours:
    found: Colours = numbers.reshape(-1).astype(np.uint64)
    return found


class Sums:
    """Sums of values by the number that each belongs to: put in order once, added up in every round."""

    def __init__(self, at: Indices, count: int) -> None:
        self.count = count
        self._order = np.argsort(at, kind="stable")
        self._there, self._first = np.unique(at[self._order], return_index=True)

    def of(self, values: Colours) -> Colours:
        """One sum for each of `count` numbers, 0 where nothing belongs to it."""
        total = np.zeros(self.count, dtype=np.uint64)
        if len(self._first):
            total[self._there] = np.add.reduceat(values[self._order], self._first)
        return total


def _rows_numbered(rows: NDArray[Any]) -> Indices:
    """The same number for rows alike, in the order of their values: as `np.unique` along an axis, which takes
    several times as long."""
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    another = (ordered[1:] != ordered[:-1]).any(axis=1)
    found = np.zeros(len(rows), dtype=np.intp)
    found[order[1:]] = np.cumsum(another)
    return found
