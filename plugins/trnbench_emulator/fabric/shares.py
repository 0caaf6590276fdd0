"""What messages take of links and memories, pair of ranks by pair: kept with the network for all plans."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from trnbench_emulator.fabric.maxmin import Floats, Indices
from trnbench_emulator.fabric.network import SHARES, Network
from trnbench_emulator.fabric.schedule import Move

Share = tuple[Indices, Floats, int]
"""Resources, what is taken of each, and ticks of latency."""
Pairs = Sequence[tuple[int, int]]


class Shares:
    """Of one move: `each` for every pair, in the order of `pairs`; equal pairs have one object and one of
    `numbers`. The arrays have them all, one after the other: `lengths` many resources each.
    """

    def __init__(self, pairs: Pairs, each: list[Share], numbers: list[int]) -> None:
        self.pairs, self.each, self.numbers = pairs, each, np.array(numbers, dtype=np.intp)

    @cached_property
    def ends(self) -> Indices:
        """Senders in the first row, receivers in the second."""
        return np.array(self.pairs, dtype=np.intp).reshape(-1, 2).T

    @cached_property
    def lengths(self) -> Indices:
        return np.array([len(resources) for resources, _, _ in self.each], dtype=np.intp)

    @cached_property
    def resources(self) -> Indices:
        return np.concatenate([np.zeros(0, np.intp), *(resources for resources, _, _ in self.each)])

    @cached_property
    def weights(self) -> Floats:
        return np.concatenate([np.zeros(0), *(weights for _, weights, _ in self.each)])

    @cached_property
    def latency(self) -> Indices:
        return np.array([latency for _, _, latency in self.each], dtype=np.intp)

    @cached_property
    def latest(self) -> int:
        """Ticks of the longest way."""
        return int(self.latency.max(initial=0))


class ShareTable:
    """What was asked of one network so far. An access of memory costs time where `network` says so, but takes
    its share in any case: links alone have the same flows as links and memories.
    """

    def __init__(self, network: Network) -> None:
        self.network = network
        self._each: dict[tuple[int, int, float, float, float], tuple[int, Share]] = {}
        self._moves: dict[object, Shares] = {}

    def of(self, move: Move) -> Shares:
        """Raises ValueError where a rank sends to itself, TopologyError where there is no way."""
        key = (move.offset, move.pairs, move.reads, move.writes, move.copies)
        found = self._moves.get(key)
        if found is None:
            pairs, kind = self.network.pairs_of(move), key[2:]
            missing = dict.fromkeys(pair for pair in pairs if (*pair, *kind) not in self._each)
            if missing:
                for pair, share in zip(missing, self._built(list(missing), move), strict=True):
                    self._each[*pair, *kind] = len(self._each), share
            known = [self._each[*pair, *kind] for pair in pairs]
            found = self._moves[key] = Shares(pairs, [s for _, s in known], [number for number, _ in known])
        return found

    def _built(self, pairs: Pairs, move: Move) -> list[Share]:
        """The links of each pair's route, then the memories at its ends, as parts of one array for all."""
        first, device = len(self.network.links), self.network.shared
        memory = self.network.has_memory
        used: list[int] = []
        taken: list[float] = []
        routes, until = [], [0]
        for src, dst in pairs:
            if src == dst:
                raise ValueError("a move from a rank to itself")
            routes.append(self.network.route(src, dst))
            if memory:
                accesses = {first + device[src]: move.reads}
                accesses[first + device[dst]] = accesses.get(first + device[dst], 0.0) + move.writes
                for resource, times in accesses.items():
                    if times > 0:
                        used.append(resource)
                        taken.append(times)
            until.append(len(used))
        accessed, amounts = np.array(used, dtype=np.intp), np.array(taken)
        spans = list(zip(routes, until, until[1:], strict=False))
        resources = np.concatenate([p for r, a, b in spans for p in (r.resources, accessed[a:b])])
        weights = np.concatenate([p for r, a, b in spans for p in (r.weights, amounts[a:b])])
        if move.copies != 1:
            weights = weights * move.copies
        shares: list[Share] = []
        begin = 0
        for route, a, b in spans:
            end = begin + len(route.resources) + b - a
            shares.append((resources[begin:end], weights[begin:end], route.latency))
            begin = end
        return shares


def shares_of(network: Network) -> ShareTable:
    """Kept with the network, and with the same links where accesses at the ends are free."""
    shares: ShareTable | None = network.memo.get(SHARES)
    if shares is None:
        shares = network.memo[SHARES] = ShareTable(network)
    return shares
