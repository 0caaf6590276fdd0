"""Flows that cannot be told apart take the same time: one of each class is simulated, not all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from trnbench_emulator.fabric.maxmin import Floats, Indices
from trnbench_emulator.fabric.schedule import Move
from trnbench_emulator.fabric.shares import Shares


class Patterns(msgspec.Struct, frozen=True, dict=True):
    """By place in every array one sender's part of one step of one chain, however often the step is repeated;
    `resources` and `weights` are those of all, one after the other, `lengths` many of each.
    """

    chain: Indices
    step: Indices
    src: Indices
    dst: Indices
    size: Floats
    latency: Indices
    direct: NDArray[np.bool_]
    lengths: Indices
    resources: Indices
    weights: Floats

    @classmethod
    def of(cls, moves: Sequence[tuple[int, int, Move, Shares]]) -> Patterns:
        """Of moves in a chain and a step: every pair of each."""
        counts = [len(shares.each) for _, _, _, shares in moves]
        src, dst = np.concatenate([shares.ends for _, _, _, shares in moves], axis=1)
        return cls(
            np.repeat(np.array([chain for chain, _, _, _ in moves], dtype=np.intp), counts),
            np.repeat(np.array([step for _, step, _, _ in moves], dtype=np.intp), counts),
            src,
            dst,
            np.repeat(np.array([move.size for _, _, move, _ in moves], dtype=np.float64), counts),
            np.concatenate([shares.latency for _, _, _, shares in moves]),
            np.repeat(np.array([move.direct for _, _, move, _ in moves], dtype=np.bool_), counts),
            np.concatenate([shares.lengths for _, _, _, shares in moves]),
            np.concatenate([shares.resources for _, _, _, shares in moves]),
            np.concatenate([shares.weights for _, _, _, shares in moves]),
        )

    def __len__(self) -> int:
        return len(self.chain)


class Classes(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """`flow[p]`, `resource[r]` and `rank[chain · ranks + rank]` number the class of each member."""

    flow: Indices
    resource: Indices
    rank: Indices
    patterns: Patterns
    shapes: tuple[int, ...]
    """The shape of every chain: chains of one shape have equally many steps, repeated as often."""
    times: tuple[tuple[int, ...], ...]
    """Repetitions of the steps of every shape."""
    memo: dict[object, Any] = {}
    """What `steady_state` carries out in place of them, whatever the size."""

    @cached_property
    def first(self) -> Indices:
        """One member of every class of flows, by the number of the class."""
        return np.unique(self.flow, return_index=True)[1]

    @cached_property
    def per_step(self) -> Counter[tuple[int, int]]:
        """How many classes of flows there are in every (shape, step)."""
        return counted(self.patterns, self.shapes, self.first)

    @cached_property
    def carried(self) -> Floats:
        """Bytes over every resource, all repetitions counted."""
        patterns = self.patterns
        begins = np.cumsum([0, *map(len, self.times)])[np.array(self.shapes, dtype=np.intp)]
        times = np.array([n for of_shape in self.times for n in of_shape])
        amounts = patterns.size * times[begins[patterns.chain] + patterns.step]
        weights = patterns.weights * np.repeat(amounts, patterns.lengths)
        return np.bincount(patterns.resources, weights, minlength=len(self.resource)).astype(np.float64)

    @cached_property
    def by_chain(self) -> list[Indices]:
        """The classes of flows of every chain."""
        return [
            np.flatnonzero(np.bincount(self.flow[self.patterns.chain == chain]))
            for chain in range(len(self.shapes))
        ]

    def effort(self, times: Sequence[Sequence[int]]) -> int:
        """Flows to simulate, each counted as often as there are others in its step."""
        return effort_of(self.per_step, times)


def counted(patterns: Patterns, shapes: Sequence[int], chosen: Indices) -> Counter[tuple[int, int]]:
    """How many of the `chosen` there are in every (shape, step)."""
    chains, steps = patterns.chain[chosen].tolist(), patterns.step[chosen].tolist()
    return Counter((shapes[chain], step) for chain, step in zip(chains, steps, strict=True))


def effort_of(per_step: Mapping[tuple[int, int], int], times: Sequence[Sequence[int]]) -> int:
    """As `Classes.effort`, of so many classes in every (shape, step)."""
    return sum(times[shape][step] * count**2 for (shape, step), count in per_step.items())
