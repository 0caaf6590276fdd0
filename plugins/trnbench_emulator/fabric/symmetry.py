"""The translations of a topology: checked against its links, never assumed.

A group that moves every rank onto every other lets one flow stand for all its images. A candidate
is built from the ranks' coordinates (a cyclic shift, or a flip of one bit, per coordinate), extended
to switches by the sets of ranks around them, and kept only if every link lands on an equal link.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trnbench.record import Record
from trnbench.topology import Link, Node
from trnbench_emulator.fabric.maxmin import Indices


class Digit(Record):
    """One coordinate: `size` positions; `xor` digits combine by exclusive or, others modulo size."""

    size: int
    xor: bool = False

    def minus(self, a: int, b: int) -> int:
        return a ^ b if self.xor else (a - b) % self.size

    def plus(self, a: int, b: int) -> int:
        return a ^ b if self.xor else (a + b) % self.size


class Symmetry(Record):
    """An abelian group that acts simply and transitively on the ranks.

    `coords[r]` are rank r's digits; `link_orbit[l]` numbers the orbit of link l, `orbit_size` counts
    its members.
    """

    digits: tuple[Digit, ...]
    coords: tuple[tuple[int, ...], ...]
    rank_at: dict[tuple[int, ...], int]
    link_orbit: Indices
    orbit_size: Indices

    def offset(self, src: int, dst: int) -> tuple[int, ...]:
        """The translation that takes `src` to `dst`."""
        return tuple(
            d.minus(b, a) for d, a, b in zip(self.digits, self.coords[src], self.coords[dst], strict=True)
        )

    def shifted(self, rank: int, offset: tuple[int, ...]) -> int:
        """Where the translation takes `rank`."""
        return self.rank_at[
            tuple(d.plus(a, o) for d, a, o in zip(self.digits, self.coords[rank], offset, strict=True))
        ]


def find_symmetry(
    nodes: Sequence[Node], links: Sequence[Link], ranks: Sequence[int], kinds: Sequence[object]
) -> Symmetry | None:
    """The translations of the graph made of `links`, or None when the ranks are not all alike.

    `ranks` are positions in `nodes` in rank order; `kinds[l]` is anything that equal links share
    (bandwidth, latency and class); links join positions in `nodes`.
    """
    coords = [nodes[r].coord for r in ranks]
    width = len(coords[0]) if coords else 0
    if not width or any(len(c) != width for c in coords) or len(set(coords)) != len(coords):
        return None
    # Of a part the places that are taken along each axis are numbered from 0.
    taken = [sorted(set(axis)) for axis in zip(*coords, strict=True)]
    sizes = list(map(len, taken))
    if int(np.prod(sizes)) != len(coords):
        return None
    coords = [tuple(map(list.index, taken, coord)) for coord in coords]
    index = {(link.src, link.dst, kind): i for i, (link, kind) in enumerate(zip(links, kinds, strict=True))}
    if len(index) != len(links):
        return None  # parallel equal links: let the explicit simulation handle them
    around = _surroundings(nodes, links)
    rank_at = {c: ranks[i] for i, c in enumerate(coords)}
    generators: list[list[int]] = []
    digits: list[Digit] = []
    for axis, size in enumerate(sizes):
        for xor in (False, True):
            digit = Digit(size, xor)
            steps = [1 << b for b in range(size.bit_length() - 1)] if xor else [1]
            if xor and size & (size - 1):
                continue
            maps = [_extended(nodes, ranks, coords, rank_at, axis, digit, step, around) for step in steps]
            linkmaps = [_on_links(links, kinds, index, m) for m in maps]
            if all(m is not None for m in linkmaps):
                generators += [m for m in linkmaps if m is not None]
                digits.append(digit)
                break
        else:
            return None
    orbit = _orbits(len(links), generators)
    return Symmetry(
        tuple(digits),
        tuple(coords),
        {c: i for i, c in enumerate(coords)},
        orbit,
        np.bincount(orbit) if len(orbit) else np.zeros(0, np.intp),
    )


def _surroundings(nodes: Sequence[Node], links: Sequence[Link]) -> list[frozenset[int]]:
    found: list[set[int]] = [set() for _ in nodes]
    for link in links:
        found[link.src].add(link.dst)
        found[link.dst].add(link.src)
    return [frozenset(each) for each in found]


def _extended(
    nodes: Sequence[Node],
    ranks: Sequence[int],
    coords: Sequence[tuple[int, ...]],
    at: dict[tuple[int, ...], int],
    axis: int,
    digit: Digit,
    step: int,
    around: Sequence[frozenset[int]],
) -> list[int] | None:
    """The shift of the ranks, extended to every other node by whom it is joined to."""
    image = [-1] * len(nodes)
    for rank, coord in zip(ranks, coords, strict=True):
        image[rank] = at[(*coord[:axis], digit.plus(coord[axis], step), *coord[axis + 1 :])]
    rest = [i for i in range(len(nodes)) if image[i] < 0]
    known = frozenset(ranks)
    while rest:  # from the ranks outwards: devices of cores, then their switches
        layer = [i for i in rest if around[i] & known]
        by_surroundings: dict[tuple[object, frozenset[int]], list[int]] = {}
        for i in layer:
            by_surroundings.setdefault((nodes[i].kind, around[i] & known), []).append(i)
        for i in layer:
            target = frozenset(image[n] for n in around[i] & known)
            candidates = by_surroundings.get((nodes[i].kind, target), [])
            if len(candidates) != 1:
                return None
            image[i] = candidates[0]
        if not layer:
            return None
        known |= frozenset(layer)
        rest = [i for i in rest if image[i] < 0]
    return image


def _on_links(
    links: Sequence[Link],
    kinds: Sequence[object],
    index: dict[tuple[int, int, object], int],
    image: list[int] | None,
) -> list[int] | None:
    if image is None:
        return None
    order = []
    for link, kind in zip(links, kinds, strict=True):
        target = index.get((image[link.src], image[link.dst], kind))
        if target is None:
            return None
        order.append(target)
    return order


def _orbits(count: int, generators: Sequence[Sequence[int]]) -> Indices:
    """Numbers the orbits of links 0…count−1 under the generators, in order of first member."""
    orbit = [-1] * count
    number = 0
    for first in range(count):
        if orbit[first] >= 0:
            continue
        orbit[first] = number
        stack = [first]
        while stack:
            here = stack.pop()
            for generator in generators:
                there = generator[here]
                if orbit[there] < 0:
                    orbit[there] = number
                    stack.append(there)
        number += 1
    return np.array(orbit, dtype=np.intp)
