"""Steps whose flows never compete: every duration is known in advance, only the waiting is not.

Where the rates that all flows would have alone fit on every link together, no flow ever slows
another, whenever they run. Then arrival times follow from maxima and sums alone (max-plus algebra),
step by step, and the simulation is not needed. The answer is the same to the tick.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain as chained

import msgspec
import numpy as np
from numpy.typing import NDArray

from trnbench.emulator.clock import HALF, TICKS_PER_SECOND
from trnbench.emulator.fabric.fluid import Outcome
from trnbench.emulator.fabric.maxmin import FULL, Floats, Indices

Ticks = NDArray[np.int64]


class Round(msgspec.Struct, frozen=True):
    """A step of a chain: what is sent, before it is known when, and how often in a row. By sender: the two
    ranks, bytes, and shares of resources with ticks of latency; one pair's shares are one object.
    """

    pairs: Sequence[tuple[int, int]]
    sizes: Floats
    shares: Sequence[tuple[Indices, Floats, int]]
    times: int


def contention_free(
    chains: Sequence[Sequence[Round]],
    capacity: Floats,
    ranks: int,
    before: int,
    late: Sequence[int] = (),
    *,
    compete: bool = False,
) -> Outcome | None:
    """The outcome when no two flows ever compete, else None; `arrival` is the end of each chain.

    `late[r]`: the tick at which rank r begins. `compete`: the outcome as if no flow slowed another, though
    some do: a bound from below.
    """
    rounds = [one for chain in chains for one in chain]
    shares = list(chained.from_iterable(one.shares for one in rounds))
    number = np.repeat(np.arange(len(chains)), [sum(len(one.shares) for one in chain) for chain in chains])
    first, mix = np.unique([id(weights) for _, weights, _ in shares], return_index=True, return_inverse=True)[
        1:
    ]
    alone = _alone([shares[i] for i in first], capacity)
    rate = alone[mix.reshape(-1)]
    # A pair's sendings follow one another within a chain: they count once.
    once = np.sort(np.unique(number * len(first) + mix.reshape(-1), return_index=True)[1])
    counted = once[np.isfinite(rate[once])]
    if len(counted) and not compete:
        used, weights, lengths = _together([shares[i] for i in counted])
        load = np.bincount(used, weights * np.repeat(rate[counted], lengths), minlength=len(capacity))
        if (load > capacity * (1 + 16 * FULL)).any():
            return None
    carried = np.zeros(len(capacity))
    ends = []
    done = 0
    for chain in chains:
        ready: Ticks = np.array(late, dtype=np.int64) if late else np.zeros(ranks, dtype=np.int64)
        for one in chain:
            if not one.shares:
                continue
            own = slice(done, done := done + len(one.shares))
            src, dst = np.array(one.pairs, dtype=np.intp).T
            takes: Ticks = np.floor(one.sizes / rate[own] * TICKS_PER_SECOND + HALF).astype(np.int64)
            takes += before + np.array([latency for *_, latency in one.shares], dtype=np.int64)
            used, weights, lengths = _together(one.shares)
            np.add.at(carried, used, weights * np.repeat(one.sizes, lengths) * one.times)
            for _ in range(one.times):
                arrive = np.maximum(ready[src], ready[dst]) + takes
                following = ready.copy()
                # Ranks that took part are ready when the last of theirs is done, never earlier.
                np.maximum.at(following, src, arrive)
                np.maximum.at(following, dst, arrive)
                ready = following
        ends.append(int(ready.max(initial=0)))
    return Outcome(ends, carried, max(ends, default=0))


def _together(shares: Sequence[tuple[Indices, Floats, int]]) -> tuple[Indices, Floats, list[int]]:
    """Resources and weights of all, one after the other, and how many each has."""
    lengths = [len(used) for used, *_ in shares]
    return (
        np.concatenate([used for used, *_ in shares]),
        np.concatenate([weights for _, weights, _ in shares]),
        lengths,
    )


def _alone(shares: Sequence[tuple[Indices, Floats, int]], capacity: Floats) -> Floats:
    """Bytes/s of each, had it all resources to itself; infinite where it uses none."""
    rate = np.full(len(shares), np.inf)
    using = [i for i, (used, *_) in enumerate(shares) if len(used)]
    if using:
        used, weights, lengths = _together([shares[i] for i in using])
        begins = np.cumsum([0, *lengths[:-1]])
        rate[using] = np.minimum.reduceat(capacity[used] / weights, begins)
    return rate
