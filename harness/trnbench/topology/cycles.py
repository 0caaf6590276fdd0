"""Hamiltonian cycles that share no cable: how many full-speed rings a collective can run at once."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import prod
from typing import TypeAlias

from trnbench.topology.builder import index, positions, step
from trnbench.topology.graph import Topology, torus_sides

Cycle: TypeAlias = tuple[int, ...]
"""Device ids in the order of the walk, every device once; the last is joined to the first."""

Cable: TypeAlias = tuple[int, int]

SEARCH_UP_TO = 1024
ATTEMPTS = 40


def hamiltonian_cycles(topology: Topology) -> tuple[Cycle, ...]:
    """Edge-disjoint Hamiltonian cycles over the direct links, by construction; () if none is known.

    A torus of n axes longer than 2 has n of them, one per two links of a device.
    """
    sides = None if "network" in topology.shape else torus_sides(topology)
    return () if sides is None else torus_cycles(sides)


def torus_cycles(sides: Sequence[int]) -> tuple[Cycle, ...]:
    """The same of a torus of these sides, its devices numbered in the order of their coordinates."""
    long = [side for side in sides if side > 1]
    count = prod(long)
    if count < 3:
        return ()
    if len(long) == 1:
        return (tuple(range(count)),)
    if len(long) == 2 and long[0] == long[1] > 2:
        return square_cycles(long[0])
    if min(long) > 2 and count <= SEARCH_UP_TO:
        return merged_cycles(long)
    return ()


def square_cycles(side: int) -> tuple[Cycle, Cycle]:
    """The two of a k × k torus, closed form: row r is walked from column −r on, then one step down.

    The second is the first with rows and columns exchanged. Together they use every cable once
    (Bose, Broeg, Kwon, Ashir: Lee distance and topological properties of k-ary n-cubes, 1995).
    """
    walk = [(r, (c - r) % side) for r in range(side) for c in range(side)]
    return (tuple(r * side + c for r, c in walk), tuple(c * side + r for r, c in walk))


def merged_cycles(sides: Sequence[int]) -> tuple[Cycle, ...]:
    """One cycle per axis, found by merging the rings of the axes.

    Every axis starts as a set of rings. On a square of two axes, two opposite cables of the one set
    can be exchanged for the two of the other; where both sets merge two rings, or one does and the
    other loses nothing, the exchange is kept. The order of squares is shuffled by a fixed seed, so
    the answer is always the same. () if no order tried ends in single cycles.
    """
    tried = (_merge(sides, random.Random(attempt)) for attempt in range(ATTEMPTS))
    return next(filter(None, tried), ())


def _merge(sides: Sequence[int], chance: random.Random) -> tuple[Cycle, ...]:
    places = positions(sides)
    axes = [axis for axis, side in enumerate(sides) if side > 2]
    around: list[dict[int, set[int]]] = [
        {index(at, sides): {index(step(at, axis, by, sides), sides) for by in (-1, 1)} for at in places}
        for axis in axes
    ]
    squares = [
        (at, first, second) for at in places for i, first in enumerate(axes) for second in axes[i + 1 :]
    ]
    counts = [len(places) // sides[axis] for axis in axes]
    for _ in range(60):
        chance.shuffle(squares)
        for at, first, second in squares:
            far = step(at, first, 1, sides)
            corners = [
                index(p, sides) for p in (at, far, step(far, second, 1, sides), step(at, second, 1, sides))
            ]
            _exchange(around, counts, corners, chance)
        if all(count == 1 for count in counts):
            return tuple(_walk(each) for each in around)
    return ()


def _exchange(
    around: list[dict[int, set[int]]], counts: list[int], corners: Sequence[int], chance: random.Random
) -> None:
    """Exchanges the opposite cables of a square between two sets, if that leaves no more rings."""
    a, b, c, d = corners
    flat = next((i for i, s in enumerate(around) if b in s[a] and d in s[c]), None)
    steep = next((i for i, s in enumerate(around) if c in s[b] and a in s[d]), None)
    if flat is None or steep is None or flat == steep:
        return
    before = counts[flat], counts[steep]
    level, upright = ((a, b), (c, d)), ((b, c), (d, a))
    _swap(around[flat], level, upright)
    _swap(around[steep], upright, level)
    after = _rings(around[flat]), _rings(around[steep])
    gain = sum(before) - sum(after)
    if gain > 0 or (gain == 0 and chance.random() < 0.3):
        counts[flat], counts[steep] = after
        return
    _swap(around[flat], upright, level)
    _swap(around[steep], level, upright)


def _swap(around: dict[int, set[int]], out: Iterable[Cable], into: Iterable[Cable]) -> None:
    """Takes two cables out and puts two in."""
    for src, dst in out:
        around[src].discard(dst)
        around[dst].discard(src)
    for src, dst in into:
        around[src].add(dst)
        around[dst].add(src)


def _rings(around: dict[int, set[int]]) -> int:
    seen: set[int] = set()
    count = 0
    for start in around:
        if start not in seen:
            count += 1
            seen.update(_walk(around, start))
    return count


def _walk(around: dict[int, set[int]], start: int = 0) -> Cycle:
    walk, before, here = [start], -1, start
    while True:
        onward = sorted(n for n in around[here] if n != before)
        if not onward or onward[0] == start:
            return tuple(walk)
        before, here = here, onward[0]
        walk.append(here)


def disjoint(cycles: Sequence[Cycle]) -> bool:
    """Do the cycles share no cable?"""
    seen: set[frozenset[int]] = set()
    for cycle in cycles:
        for pair in pairwise((*cycle, cycle[0])):
            cable = frozenset(pair)
            if cable in seen:
                return False
            seen.add(cable)
    return True
