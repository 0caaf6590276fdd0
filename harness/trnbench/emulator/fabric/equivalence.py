"""Flows that cannot be told apart take the same time: one of each class is simulated, not all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from trnbench.emulator.fabric.maxmin import Floats, Indices


class Pattern(msgspec.Struct, frozen=True):
    """One sender's part of one step of one chain, however often the step is repeated."""

    chain: int
    step: int
    src: int
    dst: int
    size: float
    latency: int
    resources: Indices
    weights: Floats
    direct: bool


class Classes(msgspec.Struct, frozen=True, kw_only=True):
    """`flow[p]`, `resource[r]` and `rank[chain · ranks + rank]` number the class of each member."""

    flow: Indices
    resource: Indices
    rank: Indices
    patterns: tuple[Pattern, ...]
    shapes: tuple[int, ...]
    """The shape of every chain: chains of one shape have equally many steps, repeated as often."""
    times: tuple[tuple[int, ...], ...]
    """Repetitions of the steps of every shape."""
    memo: dict[object, Any] = {}
    """What follows from the classes alone, whatever the size."""

    def per_step(self) -> Counter[tuple[int, int]]:
        """How many classes of flows there are in every (shape, step)."""
        found: Counter[tuple[int, int]] | None = self.memo.get("per step")
        if found is None:
            first = np.unique(self.flow, return_index=True)[1]
            chosen = (self.patterns[i] for i in first)
            found = self.memo["per step"] = Counter((self.shapes[p.chain], p.step) for p in chosen)
        return found

    def effort(self, times: Sequence[Sequence[int]]) -> int:
        """Flows to simulate, each counted as often as there are others in its step."""
        return effort_of(self.per_step(), times)


def effort_of(per_step: Mapping[tuple[int, int], int], times: Sequence[Sequence[int]]) -> int:
    """As `Classes.effort`, of so many classes in every (shape, step)."""
    return sum(times[shape][step] * count**2 for (shape, step), count in per_step.items())


def carried(classes: Classes) -> Floats:
    """Bytes over every resource, all repetitions counted."""
    if "carried" not in classes.memo:
        resources = np.concatenate([p.resources for p in classes.patterns])
        weights = np.concatenate([p.weights for p in classes.patterns])
        amounts = np.array(
            [p.size * classes.times[classes.shapes[p.chain]][p.step] for p in classes.patterns]
        )
        weights *= np.repeat(amounts, [len(p.resources) for p in classes.patterns])
        classes.memo["carried"] = np.bincount(resources, weights, minlength=len(classes.resource))
    found: Floats = classes.memo["carried"]
    return found


def ends(classes: Classes, last: Mapping[int, int]) -> list[int]:
    """The tick at which every chain is done, from that at which each class of flows is."""
    by_chain: list[set[int]] | None = classes.memo.get("chains")
    if by_chain is None:
        by_chain = classes.memo["chains"] = [set() for _ in classes.shapes]
        for pattern, number in zip(classes.patterns, classes.flow.tolist(), strict=True):
            by_chain[pattern.chain].add(number)
    return [max((last[number] for number in each), default=0) for each in by_chain]
