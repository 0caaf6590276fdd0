"""Which flows cannot be told apart, by refining colours until nothing new is seen.

Classes are the coarsest equitable partition of flows, resources and ranks (colour refinement, as in
Weisfeiler and Leman 1968; Paige and Tarjan, "Three partition refinement algorithms", SIAM J. Comput. 16,
1987): members of a class have the same size, use the same amounts of the same classes of resources, wait
for the same classes of flows, and are met on them by the same classes. Max–min shares, starts and arrivals
depend on nothing else, so every member does what the one that is simulated does. No translation of the
network is needed: an uneven network merely has more classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trnbench_emulator.fabric.equivalence import Classes, Patterns
from trnbench_emulator.fabric.maxmin import Floats, Indices

Colours = NDArray[np.uint64]

MOST_PATTERNS = 400_000
"""Flows of all steps, repetitions not counted, above which no classes are looked for: some seconds."""


def classes_of(
    patterns: Patterns,
    times: Sequence[tuple[int, ...]],
    capacity: Floats,
    ranks: int,
    late: Sequence[int] = (),
    *,
    waiting: bool = True,
) -> Classes:
    """`times[c]`: repetitions of the steps of chain c; `late[r]`: ticks at which rank r begins. Where nobody
    is `waiting`, all flows begin at once and nothing hangs on who sends to whom.
    """
    shapes_seen: dict[tuple[int, ...], int] = {}
    shapes = tuple(shapes_seen.setdefault(time, len(shapes_seen)) for time in times)
    flow = np.repeat(np.arange(len(patterns)), patterns.lengths)
    resource = patterns.resources
    weight = np.round(patterns.weights, 12)
    of_flow, of_rank = _coloured(patterns, np.array(shapes, dtype=np.intp), late or [0] * ranks)
    of_resource = _ordered(np.unique(capacity, return_inverse=True)[1])
    share = _ordered(np.unique(weight, return_inverse=True)[1])
    at_resource, at_flow = Sums(resource, len(capacity)), Sums(flow, len(patterns))
    flow_there, share_there = flow[at_resource.order], _salted(share[at_resource.order], 1)
    resource_there, share_here = resource[at_flow.order], _salted(share[at_flow.order], 2)
    if waiting:
        src, dst = patterns.chain * ranks + patterns.src, patterns.chain * ranks + patterns.dst
        at_src, at_dst = Sums(src, len(of_rank)), Sums(dst, len(of_rank))
        sent, received, sender, receiver = (_salted(0, salt) for salt in range(3, 7))
    before, different = -1, 0
    while different != before:
        stretched = _stretched(of_flow)
        on_resource = at_resource.of(_mixed(stretched[flow_there], share_there))
        on_flow = at_flow.of(_mixed(_stretched(of_resource)[resource_there], share_here))
        if waiting:
            on_rank = at_src.of(_mixed(stretched, sent)[at_src.order])
            on_rank += at_dst.of(_mixed(stretched, received)[at_dst.order])
            ranks_stretched = _stretched(of_rank)
            on_flow += _mixed(ranks_stretched, sender)[src] + _mixed(ranks_stretched, receiver)[dst]
            of_rank = _mixed(ranks_stretched, _salted(on_rank, 7))
        # Finer than before: what was unlike stays so.
        of_flow = _mixed(stretched, _salted(on_flow, 7))
        of_resource = _mixed(_stretched(of_resource), _salted(on_resource, 7))
        before, different = different, sum(map(_different, (of_flow, of_resource, of_rank)))
    return Classes(
        flow=np.unique(of_flow, return_inverse=True)[1].reshape(-1),
        resource=np.unique(of_resource, return_inverse=True)[1].reshape(-1),
        rank=np.unique(of_rank, return_inverse=True)[1].reshape(-1),
        patterns=patterns,
        shapes=shapes,
        times=tuple(shapes_seen),
    )


def _coloured(patterns: Patterns, shapes: NDArray[np.intp], late: Sequence[int]) -> tuple[Colours, Colours]:
    """What flows and ranks are told apart by before any refinement. `shapes`: of each chain."""
    flows = np.stack([shapes[patterns.chain], patterns.step, patterns.size, patterns.latency], axis=1)
    ranks = np.stack([np.tile(np.array(late), len(shapes)), np.repeat(shapes, len(late))], axis=1)
    return _rows_numbered(flows).astype(np.uint64), _rows_numbered(ranks).astype(np.uint64)


def _stretched(colour: Colours) -> Colours:
    """A colour for `_mixed`."""
    return colour * np.uint64(0x9E3779B97F4A7C15)


def _salted(other: Colours | int, salt: int) -> Colours:
    """What a colour is mixed with, the same number being another with another `salt`."""
    return np.atleast_1d(np.asarray(other, dtype=np.uint64)) * np.uint64(0xD1B54A32D192ED03) + np.uint64(salt)


def _mixed(stretched: Colours, salted: Colours) -> Colours:
    """Colours as 64 random bits (splitmix64), so that sums tell multisets apart.

    Two different ones among a million agree by chance once in some ten million calls.
    """
    bits = stretched + salted
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
    """Sums of values by the number that each belongs to: those of one number are in a row in `order`."""

    def __init__(self, at: Indices, count: int) -> None:
        self.count = count
        self.order = np.argsort(at, kind="stable")
        ordered = at[self.order]
        another = np.ones(len(at), dtype=np.bool_)
        another[1:] = ordered[1:] != ordered[:-1]
        self._first = np.flatnonzero(another)
        self._there = ordered[self._first]

    def of(self, ordered: Colours) -> Colours:
        """One sum for each of `count` numbers of values put in `order`, 0 where nothing belongs to it."""
        total = np.zeros(self.count, dtype=np.uint64)
        if len(self._first):
            total[self._there] = np.add.reduceat(ordered, self._first)
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
