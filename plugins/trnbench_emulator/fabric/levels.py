"""Rings behind switches of several levels: every level's links carry a share of the work.

A walk in rank order crosses the inner switches at nearly every hop and leaves the outer ones idle. Walks in
reflected mixed-radix Gray order (Knuth, The Art of Computer Programming 4A, section 7.2.1.1) change one
coordinate per hop, mostly the fastest: one family of walks for each choice of it, each moved to several
places so that its rare hops do not meet. How much of the buffer a family takes is what makes the busiest
link least busy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trnbench_emulator.fabric.maxmin import Floats
from trnbench_emulator.fabric.network import Network

PLACES = 4
"""Walks of each family."""
ROUNDS = 4000
"""Steps of the search for shares: they come within a hundredth of the best."""

Lane = tuple[tuple[int, ...], float]
"""Devices in the order of a walk, and its share of the buffer."""


def level_walks(network: Network) -> list[Lane]:
    """Empty where ranks are not alike, or differ in one coordinate only."""
    symmetry = network.symmetry
    each = network.ranks_per_device
    if symmetry is None or not each:
        return []
    width = len(symmetry.digits) - (each > 1)
    sizes = [digit.size for digit in symmetry.digits[:width]]
    axes = [axis for axis in range(width) if sizes[axis] > 1]
    if len(axes) < 2 or all(sizes[axis] % 2 for axis in axes):
        return []
    device_at = {coord[:width]: device for coord, device in zip(symmetry.coords, network.shared, strict=True)}
    families = []
    for fastest in axes:
        walk = _gray(sizes, _order(axes, sizes, fastest))
        places = [tuple(device_at[_moved(at, sizes, place)] for at in walk) for place in range(PLACES)]
        families.append(list(dict.fromkeys(places)))
    shares = _shares(np.array([_loads(network, family) for family in families]))
    return [
        (walk, float(share) / len(family))
        for family, share in zip(families, shares, strict=True)
        for walk in family
    ]


def _moved(at: Sequence[int], sizes: Sequence[int], place: int) -> tuple[int, ...]:
    return tuple((c + place * size // PLACES) % size for c, size in zip(at, sizes, strict=True))


def _order(axes: Sequence[int], sizes: Sequence[int], fastest: int) -> list[int]:
    """Slowest first. The slowest has an even size, so that the walk closes with one more hop along it."""
    rest = [axis for axis in axes if axis != fastest]
    slowest = next((axis for axis in rest if sizes[axis] % 2 == 0), None)
    if slowest is None:  # only the fastest is even: it closes the walk itself
        return [fastest, *rest]
    return [slowest, *(axis for axis in rest if axis != slowest), fastest]


def _gray(sizes: Sequence[int], order: Sequence[int]) -> list[tuple[int, ...]]:
    """Every position once, one coordinate changed by one from each to the next; `order` slowest first."""
    walks: list[dict[int, int]] = [{}]
    for axis in order:
        longer = []
        for number, at in enumerate(walks):
            steps = range(sizes[axis]) if number % 2 == 0 else reversed(range(sizes[axis]))
            longer += [{**at, axis: value} for value in steps]
        walks = longer
    return [tuple(at.get(axis, 0) for axis in range(len(sizes))) for at in walks]


def _loads(network: Network, family: Sequence[Sequence[int]]) -> Floats:
    """Seconds that every link is busy for one byte over each hop of the family's walks together."""
    first = {device: rank for rank, device in reversed(list(enumerate(network.shared)))}
    busy = np.zeros(len(network.links))
    for walk in family:
        for a, b in zip(walk, (*walk[1:], walk[0]), strict=True):
            route = network.route(first[a], first[b])
            np.add.at(busy, route.resources, route.weights / len(family))
    found: Floats = busy / network.bandwidth
    return found


def _shares(loads: Floats) -> Floats:
    """Shares of the rows that sum to one and make the largest column of their mix small.

    A game of rows against columns, both by multiplicative weights (Freund and Schapire 1999): the mean of
    the rows' plays tends to the best.
    """
    rows = len(loads)
    scaled = loads / loads.max()
    plays, prices, mean = np.zeros(rows), np.zeros(scaled.shape[1]), np.zeros(rows)
    rate = float(np.sqrt(np.log(scaled.shape[1]) / ROUNDS))
    for _ in range(ROUNDS):
        share = np.exp(-rate * (plays - plays.min()))
        share /= share.sum()
        price = np.exp(rate * (prices - prices.max()))
        price /= price.sum()
        plays += scaled @ price
        prices += share @ scaled
        mean += share
    found: Floats = mean / mean.sum()
    return found
