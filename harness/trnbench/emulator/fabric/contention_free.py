"""Steps whose flows never compete: every duration is known in advance, only the waiting is not.

Where the rates that all flows would have alone fit on every link together, no flow ever slows
another, whenever they run. Then arrival times follow from maxima and sums alone (max-plus algebra),
step by step, and the simulation is not needed. The answer is the same to the tick.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from trnbench.emulator.clock import ticks
from trnbench.emulator.fabric.fluid import Outcome
from trnbench.emulator.fabric.maxmin import FULL, Floats, Indices

Ticks = NDArray[np.int64]


class Sending(msgspec.Struct, frozen=True):
    """One sender's part of a step, before it is known when: ranks, bytes, shares of resources."""

    src: int
    dst: int
    size: float
    resources: Indices
    weights: Floats
    latency: int


class Round(msgspec.Struct, frozen=True):
    """A step of a chain: what is sent, how often in a row."""

    sendings: tuple[Sending, ...]
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
    alone: dict[int, float] = {}
    load = np.zeros(len(capacity))
    seen: set[tuple[int, int, int, int]] = set()
    used_of: list[Indices] = []
    loads: list[Floats] = []
    for number, chain in enumerate(chains):
        for sending in (s for one in chain for s in one.sendings):
            mix = id(sending.weights)
            if mix not in alone:
                used = capacity[sending.resources]
                alone[mix] = float((used / sending.weights).min()) if len(sending.resources) else np.inf
            # A pair's sendings follow one another within a chain: they count once.
            key = (number, sending.src, sending.dst, mix)
            if key not in seen and np.isfinite(alone[mix]):
                seen.add(key)
                used_of.append(sending.resources)
                loads.append(sending.weights * alone[mix])
    if loads:
        np.add.at(load, np.concatenate(used_of), np.concatenate(loads))
    if not compete and (load > capacity * (1 + 16 * FULL)).any():
        return None
    carried = np.zeros(len(capacity))
    ends = []
    for chain in chains:
        ready: Ticks = np.array(late, dtype=np.int64) if late else np.zeros(ranks, dtype=np.int64)
        for one in chain:
            if not one.sendings:
                continue
            src = np.array([s.src for s in one.sendings])
            dst = np.array([s.dst for s in one.sendings])
            takes: Ticks = np.array(
                [before + ticks(s.size / alone[id(s.weights)]) + s.latency for s in one.sendings],
                dtype=np.int64,
            )
            at = np.concatenate([s.resources for s in one.sendings])
            np.add.at(carried, at, np.concatenate([s.weights * s.size * one.times for s in one.sendings]))
            for _ in range(one.times):
                arrive = np.maximum(ready[src], ready[dst]) + takes
                following = ready.copy()
                # Ranks that took part are ready when the last of theirs is done, never earlier.
                np.maximum.at(following, src, arrive)
                np.maximum.at(following, dst, arrive)
                ready = following
        ends.append(int(ready.max(initial=0)))
    return Outcome(ends, carried, max(ends, default=0))
