"""What is carried from one rank to another, and what it waits for."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trnbench.record import Record
from trnbench_emulator.fabric.maxmin import Floats, Indices


class Flow(Record):
    """`size` bytes over `resources` in the shares `weights`.

    It takes links `before` ticks after the last of `after` (indices of earlier flows) has arrived, and
    arrives `latency` ticks after its last byte has left.
    """

    size: float
    resources: Indices
    weights: Floats
    latency: int = 0
    before: int = 0
    after: tuple[int, ...] = ()


def timing(direct: bool, latency: int, before: int) -> tuple[int, int]:
    """`latency` and `before` of a flow: the way of a direct message lies before its share of links."""
    return (0, before + latency) if direct else (latency, before)


Sent = tuple[int, int, float, Indices, Floats, int, int]
"""Sender, receiver, and what a `Flow` has up to `before`."""


def follow(flows: list[Flow], touched: dict[int, list[int]], step: Sequence[Sent], times: int) -> None:
    """Append a step to `flows`, `times` over. Each of it waits for those that `touched` its ends last."""
    for _ in range(times):
        now: dict[int, list[int]] = {}
        for src, dst, size, resources, weights, latency, before in step:
            after = tuple(sorted({*touched.get(src, ()), *touched.get(dst, ())}))
            for end in (src, dst):
                now.setdefault(end, []).append(len(flows))
            flows.append(Flow(size, resources, weights, latency, before, after))
        touched.update(now)


def late_begin(flows: list[Flow], touched: dict[int, list[int]], rank: int, ticks: int) -> None:
    """Nothing is sent, but whoever touches the rank waits for it."""
    if ticks:
        touched[rank] = [len(flows)]
        flows.append(Flow(0.0, np.zeros(0, np.intp), np.zeros(0), latency=ticks))


class Order(Record):
    """What follows from flows whatever they share: by flow how many it waits for, who waits for it; `empty`
    where it has no bytes or no resources; `starts`: (ticks, flow) of those that wait for none.
    """

    waiting: list[int]
    dependents: list[list[int]]
    empty: list[bool]
    starts: list[tuple[int, int]]


class Together:
    """Flows that are carried out together, and what follows from them whatever they share: kept where the
    same are carried out for one size after another.
    """

    def __init__(self, flows: Sequence[Flow]) -> None:
        self.flows = flows

    def __len__(self) -> int:
        return len(self.flows)

    @cached_property
    def order(self) -> Order:
        flows = self.flows
        dependents: list[list[int]] = [[] for _ in flows]
        for index, flow in enumerate(flows):
            for earlier in flow.after:
                dependents[earlier].append(index)
        starts = [(flow.before, i) for i, flow in enumerate(flows) if not flow.after]
        heapq.heapify(starts)
        return Order(
            [len(flow.after) for flow in flows],
            dependents,
            [flow.size <= 0 or not len(flow.resources) for flow in flows],
            starts,
        )

    @cached_property
    def unrelated(self) -> bool:
        """Whether nobody waits for another."""
        return not any(flow.after for flow in self.flows)

    @cached_property
    def sizes(self) -> Floats:
        """Bytes of each; none where it uses nothing."""
        return np.array([flow.size if len(flow.resources) else 0.0 for flow in self.flows])

    @cached_property
    def before(self) -> NDArray[np.int64]:
        return np.array([flow.before for flow in self.flows], dtype=np.int64)

    @cached_property
    def latency(self) -> NDArray[np.int64]:
        return np.array([flow.latency for flow in self.flows], dtype=np.int64)

    def carried(self, count: int, scale: float) -> Floats:
        """Bytes over each of `count` resources."""
        if not self.flows:
            return np.zeros(count)
        resources, weights, lengths = self._used
        taken = weights * np.repeat(self.sizes * scale, lengths)
        return np.bincount(resources, taken, minlength=count).astype(np.float64)

    @cached_property
    def _used(self) -> tuple[Indices, Floats, Indices]:
        """Resources and weights of all, and how many each has."""
        return (
            np.concatenate([flow.resources for flow in self.flows]),
            np.concatenate([flow.weights for flow in self.flows]),
            np.array([len(flow.resources) for flow in self.flows], dtype=np.intp),
        )
