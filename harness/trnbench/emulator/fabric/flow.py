"""What is carried from one rank to another, and what it waits for."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import msgspec

from trnbench.emulator.fabric.maxmin import Floats, Indices


class Flow(msgspec.Struct, frozen=True):
    """`size` bytes over `resources` in the shares `weights`.

    It takes links `before` ticks after the last of `after` (indices of earlier flows) has arrived, and
    arrives `latency` ticks after its last byte has left. `times` > 1 repeats it back to back,
    each repetition waiting for the one before: the steps of a ring.
    """

    size: float
    resources: Indices
    weights: Floats
    latency: int = 0
    before: int = 0
    after: tuple[int, ...] = ()
    times: int = 1


def timing(direct: bool, latency: int, before: int) -> tuple[int, int]:
    """`latency` and `before` of a flow: the way of a direct message lies before its share of links."""
    return (0, before + latency) if direct else (latency, before)


class Order(msgspec.Struct, frozen=True):
    """What follows from flows whatever they share: by flow how many it waits for, who waits for it, and its
    fields; `empty` where it has no bytes or no resources; `starts`: (ticks, flow) of those that wait for
    none.
    """

    waiting: list[int]
    dependents: list[list[int]]
    times: list[int]
    before: list[int]
    latency: list[int]
    empty: list[bool]
    starts: list[tuple[int, int]]


def order_of(flows: Sequence[Flow]) -> Order:
    dependents: list[list[int]] = [[] for _ in flows]
    for index, flow in enumerate(flows):
        for earlier in flow.after:
            dependents[earlier].append(index)
    starts = [(flow.before, i) for i, flow in enumerate(flows) if not flow.after]
    heapq.heapify(starts)
    return Order(
        [len(flow.after) for flow in flows],
        dependents,
        [flow.times for flow in flows],
        [flow.before for flow in flows],
        [flow.latency for flow in flows],
        [flow.size <= 0 or not len(flow.resources) for flow in flows],
        starts,
    )
