"""Flows that cannot be told apart take the same time: one of each class is simulated, not all.

Classes are the coarsest equitable partition of flows, resources and ranks (colour refinement, as in
Weisfeiler and Leman 1968; Paige and Tarjan, "Three partition refinement algorithms", SIAM J. Comput. 16,
1987): members of a class have the same size, use the same amounts of the same classes of resources, wait
for the same classes of flows, and are met on them by the same classes. Max–min shares, starts and arrivals
depend on nothing else, so every member does what the one that is simulated does. No translation of the
network is needed: an uneven network merely has more classes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from trnbench.emulator.fabric.fluid import Flow
from trnbench.emulator.fabric.maxmin import Floats, Indices

Colours = NDArray[np.uint64]

MOST_PATTERNS = 400_000
"""Flows of all steps, repetitions not counted, above which no classes are looked for: some seconds."""


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
        return sum(times[shape][step] * count**2 for (shape, step), count in self.per_step().items())


def classes_of(
    patterns: Sequence[Pattern],
    times: Sequence[tuple[int, ...]],
    capacity: Floats,
    ranks: int,
    late: Sequence[int] = (),
    *,
    waiting: bool = True,
) -> Classes:
    """`times[c]`: repetitions of the steps of chain c; `late[r]`: ticks at which rank r begins. Where nobody
    is `waiting`, all flows begin at once and nothing hangs on who sends to whom.
    """
    shapes_seen: dict[tuple[int, ...], int] = {}
    shapes = tuple(shapes_seen.setdefault(each, len(shapes_seen)) for each in times)
    lengths = [len(p.resources) for p in patterns]
    flow = np.repeat(np.arange(len(patterns)), lengths)
    resource = np.concatenate([p.resources for p in patterns])
    weight = np.round(np.concatenate([p.weights for p in patterns]), 12)
    src = np.array([p.chain * ranks + p.src for p in patterns])
    dst = np.array([p.chain * ranks + p.dst for p in patterns])
    kinds = np.array([(shapes[p.chain], p.step, p.size, p.latency) for p in patterns])
    of_flow = np.unique(kinds, axis=0, return_inverse=True)[1].reshape(-1)
    of_resource = np.unique(capacity, return_inverse=True)[1].reshape(-1)
    begins = np.tile(np.array(late or [0] * ranks), len(times))
    shape_of_rank = np.repeat(np.array(shapes), ranks)
    of_rank = np.unique(np.stack([begins, shape_of_rank]), axis=1, return_inverse=True)[1].reshape(-1)
    share = np.unique(weight, return_inverse=True)[1].reshape(-1).astype(np.uint64)
    counted = 0
    while True:
        on_resource = _sum(resource, _mixed(of_flow[flow], share, 1), len(capacity))
        on_flow = _sum(flow, _mixed(of_resource[resource], share, 2), len(patterns))
        if waiting:
            on_rank = _sum(src, _mixed(of_flow, 0, 3), len(of_rank))
            on_rank += _sum(dst, _mixed(of_flow, 0, 4), len(of_rank))
            on_flow += _mixed(of_rank[src], 0, 5) + _mixed(of_rank[dst], 0, 6)
            of_rank = _numbered(of_rank, on_rank)
        of_flow = _numbered(of_flow, on_flow)
        of_resource = _numbered(of_resource, on_resource)
        found = int(of_flow.max()) + int(of_resource.max()) + int(of_rank.max())
        if found == counted:
            break
        counted = found
    return Classes(
        flow=of_flow,
        resource=of_resource,
        rank=of_rank,
        patterns=tuple(patterns),
        shapes=shapes,
        times=tuple(shapes_seen),
    )


def _mixed(colour: Indices, other: Colours | int, salt: int) -> Colours:
    """Colours as 64 random bits (splitmix64), so that sums tell multisets apart.

    Two different ones among a million agree by chance once in some ten million calls.
    """
    with np.errstate(over="ignore"):
        bits = colour.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        bits += np.asarray(other, dtype=np.uint64) * np.uint64(0xD1B54A32D192ED03) + np.uint64(salt)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        found: Colours = bits ^ (bits >> np.uint64(31))
        return found


def _sum(at: Indices, values: Colours, count: int) -> Colours:
    total = np.zeros(count, dtype=np.uint64)
    np.add.at(total, at, values)
    return total


def _numbered(colour: Indices, seen: Colours) -> Indices:
    """A finer colouring: equal before, and equal in what is seen."""
    found: Indices = np.unique(_mixed(colour, seen, 7), return_inverse=True)[1].reshape(-1)
    return found


class Unrolled(msgspec.Struct, frozen=True):
    """Flows of one member of each class, in order, and which of them belong to each class."""

    flows: list[Flow]
    of_class: dict[int, list[int]]


def unrolled(
    classes: Classes, times: Sequence[Sequence[int]], before: int, late: Sequence[int] = ()
) -> Unrolled:
    """`times[shape]` in place of the repetitions of `classes`. The resources of a flow are classes."""
    patterns = classes.patterns
    mixes = _mixes(classes)
    first = np.unique(classes.flow, return_index=True)[1]
    ranks = len(classes.rank) // len(classes.shapes)
    flows: list[Flow] = []
    touched: dict[int, list[int]] = {}
    if any(late):
        for node in np.unique(classes.rank, return_index=True)[1]:
            begins = int(late[node % ranks])
            if begins:  # nothing is sent, but whoever touches the rank waits for it
                touched[int(classes.rank[node])] = [len(flows)]
                flows.append(Flow(0.0, np.zeros(0, np.intp), np.zeros(0), latency=begins))
    took: dict[int, list[int]] = {}
    for shape, repetitions in enumerate(times):
        by_step: list[list[int]] = [[] for _ in repetitions]
        for p in first:
            if classes.shapes[patterns[p].chain] == shape:
                by_step[patterns[p].step].append(int(p))
        for step, repeated in enumerate(repetitions):
            part = [(p, *_ends(classes, p, ranks)) for p in by_step[step]]
            for _ in range(repeated):
                now: dict[int, list[int]] = {}
                for p, a, b in part:
                    after = sorted({*touched.get(a, ()), *touched.get(b, ())})
                    index = len(flows)
                    resources, weights = mixes[int(classes.flow[p])]
                    each = patterns[p]
                    flows.append(Flow(each.size, resources, weights, each.latency, before, tuple(after)))
                    took.setdefault(int(classes.flow[p]), []).append(index)
                    now.setdefault(a, []).append(index)
                    now.setdefault(b, []).append(index)
                touched.update(now)
    return Unrolled(flows, took)


def one_each(classes: Classes, values: NDArray[Any]) -> NDArray[Any]:
    """Of values of all resources, that of one member of each class."""
    numbers, members = np.unique(classes.resource, return_index=True)
    found = np.zeros(int(numbers.max()) + 1, dtype=values.dtype)
    found[numbers] = values[members]
    return found


def carried(classes: Classes) -> Floats:
    """Bytes over every resource, all repetitions counted."""
    if "carried" not in classes.memo:
        resources = np.concatenate([p.resources for p in classes.patterns])
        each = [
            p.weights * (p.size * classes.times[classes.shapes[p.chain]][p.step]) for p in classes.patterns
        ]
        classes.memo["carried"] = np.bincount(
            resources, np.concatenate(each), minlength=len(classes.resource)
        )
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


def _ends(classes: Classes, p: int, ranks: int) -> tuple[int, int]:
    each = classes.patterns[p]
    first = each.chain * ranks
    return int(classes.rank[first + each.src]), int(classes.rank[first + each.dst])


def _mixes(classes: Classes) -> list[tuple[Indices, Floats]]:
    """For every class of flows, what all its members together take of one member of each resource class."""
    patterns = classes.patterns
    numbers, members = np.unique(classes.resource, return_index=True)
    stands = np.full(len(classes.resource), -1)
    stands[members] = numbers
    lengths = [len(p.resources) for p in patterns]
    flow = np.repeat(classes.flow, lengths)
    at = stands[np.concatenate([p.resources for p in patterns])]
    weight = np.concatenate([p.weights for p in patterns])
    kept = at >= 0
    count = int(classes.flow.max()) + 1
    width = int(numbers.max()) + 1
    total = np.bincount(flow[kept] * width + at[kept], weight[kept], minlength=count * width)
    table = np.asarray(total, dtype=np.float64).reshape(count, width)
    found: list[tuple[Indices, Floats]] = []
    for row in table:
        used: Indices = np.flatnonzero(row)
        weights: Floats = row[used]
        found.append((used, weights))
    return found
