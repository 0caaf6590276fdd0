"""Steps whose flows never compete: every duration is known in advance, only the waiting is not.

Where the rates that all flows would have alone fit on every link together, no flow ever slows
another, whenever they run. Then arrival times follow from maxima and sums alone (max-plus algebra),
step by step, and the simulation is not needed. The answer is the same to the tick.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trnbench.record import Record
from trnbench_emulator import HALF, TICKS_PER_SECOND
from trnbench_emulator.fabric.fluid import Outcome
from trnbench_emulator.fabric.maxmin import FULL, Floats
from trnbench_emulator.fabric.shares import Shares

Ticks = NDArray[np.int64]


class Round(Record):
    """A step of a chain: what is sent, before it is known when, and how often in a row. Of each move what its
    messages take; their `sizes` in bytes, one after the other.
    """

    shares: Sequence[Shares]
    sizes: Floats
    times: int


def contention_free(
    chains: Sequence[Sequence[Round]],
    capacity: Floats,
    ranks: int,
    before: int,
    late: Sequence[int],
    *,
    compete: bool = False,
) -> Outcome | None:
    """The outcome when no two flows ever compete, else None; `arrival` is the end of each chain.

    `late[r]`: the tick at which rank r begins. `compete`: the outcome as if no flow slowed another, though
    some do: a bound from below.
    """
    of_chain = [[share for one in chain for share in one.shares] for chain in chains]
    alone = [_alone(each, capacity) for part in of_chain for each in part]
    rate = np.concatenate(alone) if alone else np.zeros(0)
    if not compete and _exceeded(of_chain, rate, capacity):
        return None
    carried = np.zeros(len(capacity))
    ends = []
    done = 0
    for chain in chains:
        ready: Ticks = np.array(late, dtype=np.int64) if late else np.zeros(ranks, dtype=np.int64)
        end = 0  # of the ranks that take part
        for one in chain:
            if not len(one.sizes):
                continue
            own = slice(done, done := done + len(one.sizes))
            src, dst = np.concatenate([share.ends for share in one.shares], axis=1)
            takes: Ticks = np.floor(one.sizes / rate[own] * TICKS_PER_SECOND + HALF).astype(np.int64)
            takes += before + np.concatenate([share.latency for share in one.shares])
            used = np.concatenate([share.resources for share in one.shares])
            weights = np.concatenate([share.weights for share in one.shares])
            lengths = np.concatenate([share.lengths for share in one.shares])
            np.add.at(carried, used, weights * np.repeat(one.sizes, lengths) * one.times)
            for _ in range(one.times):
                arrive = np.maximum(ready[src], ready[dst]) + takes
                following = ready.copy()
                # Ranks that took part are ready when the last of theirs is done, never earlier.
                np.maximum.at(following, src, arrive)
                np.maximum.at(following, dst, arrive)
                ready, end = following, max(end, int(arrive.max()))
        ends.append(end)
    return Outcome(ends, carried, max(ends, default=0))


def _exceeded(of_chain: Sequence[Sequence[Shares]], rate: Floats, capacity: Floats) -> bool:
    """Whether a resource cannot take all flows of these moves, by chain, at the `rate` of each alone."""
    moves = [each for part in of_chain for each in part]
    if not len(rate):
        return False
    numbers = np.concatenate([move.numbers for move in moves])
    lengths = np.concatenate([move.lengths for move in moves])
    chain = np.repeat(np.arange(len(of_chain)), [sum(len(e.each) for e in part) for part in of_chain])
    # A pair's sendings follow one another within a chain: they count once.
    counted = np.zeros(len(rate), dtype=np.bool_)
    counted[np.unique(chain * (int(numbers.max()) + 1) + numbers, return_index=True)[1]] = True
    counted &= np.isfinite(rate)
    kept = np.repeat(counted, lengths)
    used = np.concatenate([move.resources for move in moves])[kept]
    weights = np.concatenate([move.weights for move in moves])[kept]
    taken = weights * np.repeat(rate[counted], lengths[counted])
    load = np.bincount(used, taken, minlength=len(capacity))
    return bool((load > capacity * (1 + 16 * FULL)).any())


def _alone(shares: Shares, capacity: Floats) -> Floats:
    """Bytes/s of each, had it all resources to itself; infinite where it uses none."""
    rate = np.full(len(shares.each), np.inf)
    using = np.flatnonzero(shares.lengths)
    if len(using):
        begins = np.cumsum(shares.lengths[using]) - shares.lengths[using]
        rate[using] = np.minimum.reduceat(capacity[shares.resources] / shares.weights, begins)
    return rate
