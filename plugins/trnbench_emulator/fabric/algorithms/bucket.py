"""Bucket: ring phases along one torus dimension after the other, or along all of them at once.

One at a time: Σ 2(kᵢ−1)(αᵢ + Sᵢ/(kᵢBᵢ)), S₁ = S, Sᵢ₊₁ = Sᵢ/kᵢ: Chan, Heimlich, Purkayastha, van de
Geijn, "Collective communication: theory, practice, and experience", Concurrency and Computation 19
(2007). On all 2d ports at once, on a symmetric torus: 2[Σ(kᵢ−1)αᵢ + (n−1)/n·S/(2dB)]: Jain and
Sabharwal, "Optimal bucket algorithms for large MPI collectives on torus interconnects" (2010); Sack
and Gropp, "Collective algorithms for multiported torus networks" (2015). Where dimensions have unlike rates
every order of them is a lane, and lanes take shares of the buffer by the rates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

from trnbench.errors import counted
from trnbench_emulator.fabric.algorithms.algorithm import (
    ALL_GATHER,
    ALL_REDUCE,
    REDUCE_SCATTER,
    Algorithm,
    NotPossible,
    ways,
)
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.orbits import capacity_of, routes_of
from trnbench_emulator.fabric.schedule import Move, Schedule, Step
from trnbench_emulator.fabric.symmetry import Symmetry

Lane = tuple[tuple[int, ...], int, float]
"""The order in which it takes the dimensions, the direction, and its share of the buffer."""
ALIKE = 1.01
"""Factor between the rates of two dimensions up to which they count as one."""


class Bucket(Algorithm):
    """`ports`: "one" (one direction), "two" (both directions of one dimension) or "all"."""

    collectives = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER)

    def __init__(self, name: str, *, ports: str) -> None:
        self.name, self.ports = name, ports
        self.auto = ports == "all"

    def _lanes(self, network: Network, symmetry: Symmetry) -> list[Lane]:
        order = tuple(axis for axis, digit in enumerate(symmetry.digits) if digit.size > 1)
        if self.ports == "one":
            return [(order, 1, 1.0)]
        if self.ports == "two":
            return [(order, 1, 0.5), (order, -1, 0.5)]
        rates = _rates(network, symmetry, order)
        if max(rates.values()) <= ALIKE * min(rates.values()):
            orders = {(*order[first:], *order[:first]): 1 / len(order) for first in range(len(order))}
        else:
            orders = {permutation: _share(permutation, rates) for permutation in permutations(order)}
        return [(each, sign, share / 2) for each, share in orders.items() for sign in (1, -1)]

    def schedule(self, network: Network, collective: str, size: float) -> Schedule:
        symmetry = network.symmetry
        if symmetry is None or any(digit.xor for digit in symmetry.digits):
            raise NotPossible(
                f"{self.name} needs a torus on which all ranks are alike",
                cause=f"{network.topology.name} has no such dimensions, or a link or rank unlike the others",
                try_="--algorithm ring, mesh or direct",
            )
        lanes = self._lanes(network, symmetry)
        reduces, gathers = ways(collective)
        chains = []
        for order, sign, share in lanes:
            scatter, part = [], size * share
            for axis in order:
                k = symmetry.digits[axis].size
                scatter.append((_unit(len(symmetry.digits), axis, sign % k), part / k, k - 1))
                part /= k
            chain = []
            if reduces:
                chain += [Step.of(Move(size=s, offset=o, reads=2.0), times=t) for o, s, t in scatter]
            if gathers:
                chain += [Step.of(Move(size=s, offset=o), times=t) for o, s, t in reversed(scatter)]
            chains.append(chain)
        return self.plan(chains, counted(len(lanes), "lane"))


def _rates(network: Network, symmetry: Symmetry, axes: Sequence[int]) -> dict[int, float]:
    """Bytes/s that every rank can send its neighbour along a dimension while all others do the same."""
    routes, capacity = routes_of(network), capacity_of(network)
    moved = {axis: routes[_unit(len(symmetry.digits), axis, 1)] for axis in axes}
    return {axis: float((capacity[used] / weights).min()) for axis, (used, weights, _) in moved.items()}


def _share(order: Sequence[int], rates: Mapping[int, float]) -> float:
    """Of the buffer, for the lane of this order: at every turn the dimensions that are left share
    by their rates, so that all of them are done with their first, and longest, turn together.
    """
    found = 1.0
    for turn, axis in enumerate(order):
        found *= rates[axis] / sum(rates[left] for left in order[turn:])
    return found


def _unit(width: int, axis: int, value: int) -> tuple[int, ...]:
    return tuple(value if i == axis else 0 for i in range(width))
