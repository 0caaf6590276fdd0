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
    of_flow, of_rank = _coloured(patterns, np.array(shapes, dtype=np.intp), late or [0] * ranks)
    of_resource = _numbered(capacity).astype(np.uint64)
    share = _numbered(np.round(patterns.weights, 12)).astype(np.uint64)
    share_there, share_here = _salted(share, 1), _salted(share, 2)
    src, dst = patterns.chain * ranks + patterns.src, patterns.chain * ranks + patterns.dst
    sent, received, sender, receiver = (_salted(0, salt) for salt in range(3, 7))
    before, different = -1, 0
    while different != before:
        stretched = _stretched(of_flow)
        on_resource = _sums(resource, _mixed(stretched[flow], share_there), len(capacity))
        on_flow = _sums(flow, _mixed(_stretched(of_resource)[resource], share_here), len(patterns))
        if waiting:
            on_rank = _sums(src, _mixed(stretched, sent), len(of_rank))
            on_rank += _sums(dst, _mixed(stretched, received), len(of_rank))
            ranks_stretched = _stretched(of_rank)
            on_flow += _mixed(ranks_stretched, sender)[src] + _mixed(ranks_stretched, receiver)[dst]
            of_rank = _mixed(ranks_stretched, _salted(on_rank, 7))
        # Finer than before: what was unlike stays so.
        of_flow = _mixed(stretched, _salted(on_flow, 7))
        of_resource = _mixed(_stretched(of_resource), _salted(on_resource, 7))
        before, different = (
            different,
            sum(len(np.unique(colours)) for colours in (of_flow, of_resource, of_rank)),
        )
    return Classes(
        flow=_numbered(of_flow),
        resource=_numbered(of_resource),
        rank=_numbered(of_rank),
        patterns=patterns,
        shapes=shapes,
        times=tuple(shapes_seen),
    )


def _coloured(patterns: Patterns, shapes: NDArray[np.intp], late: Sequence[int]) -> tuple[Colours, Colours]:
    """What flows and ranks are told apart by before any refinement. `shapes`: of each chain."""
    flows = np.stack([shapes[patterns.chain], patterns.step, patterns.size, patterns.latency], axis=1)
    ranks = np.stack([np.tile(np.array(late), len(shapes)), np.repeat(shapes, len(late))], axis=1)
    return _numbered(flows, 0).astype(np.uint64), _numbered(ranks, 0).astype(np.uint64)


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


def _numbered(values: NDArray[Any], axis: int | None = None) -> Indices:
    """The same number for equal values, or for equal rows along `axis` 0, in their order."""
    numbers: Indices = np.unique(values, axis=axis, return_inverse=True)[1].reshape(-1)
    return numbers


def _sums(at: Indices, values: Colours, count: int) -> Colours:
    """The values added up by the number that each has in `at`, for each of `count` numbers, modulo 2⁶⁴."""
    total = np.zeros(count, dtype=np.uint64)
    np.add.at(total, at, values)
    return total
