"""The flows of one member of each class, step by step: what is simulated in place of all."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from trnbench_emulator.fabric.equivalence import Classes
from trnbench_emulator.fabric.flow import Flow, Together, timing
from trnbench_emulator.fabric.maxmin import Floats, Indices


class Unrolled(msgspec.Struct, frozen=True):
    """Flows of one member of each class, in order, and `number`, the class of each: that after the last one
    for what stands for nobody.
    """

    flows: Together
    number: Indices


def unrolled(
    classes: Classes, times: Sequence[Sequence[int]], before: int, late: Sequence[int] = ()
) -> Unrolled:
    """`times[shape]` in place of the repetitions of `classes`. Of the resources that a flow uses it has the
    first member of each class.
    """
    patterns = classes.patterns
    mixes = _mixes(classes)
    # By the number of each class, of the member that stands for it:
    chosen = classes.first
    shape_of = [classes.shapes[chain] for chain in patterns.chain[chosen].tolist()]
    step_of, sizes = patterns.step[chosen].tolist(), patterns.size[chosen].tolist()
    latency, direct = patterns.latency[chosen].tolist(), patterns.direct[chosen].tolist()
    ranks = len(classes.rank) // len(classes.shapes)
    flows: list[Flow] = []
    touched: dict[int, list[int]] = {}
    if any(late):
        for node in np.unique(classes.rank, return_index=True)[1]:
            begins = int(late[node % ranks])
            if begins:  # nothing is sent, but whoever touches the rank waits for it
                touched[int(classes.rank[node])] = [len(flows)]
                flows.append(Flow(0.0, np.zeros(0, np.intp), np.zeros(0), latency=begins))
    took = [len(chosen)] * len(flows)
    by_step: dict[tuple[int, int], list[int]] = {}
    for number, place in enumerate(zip(shape_of, step_of, strict=True)):
        by_step.setdefault(place, []).append(number)
    from_rank = patterns.chain[chosen] * ranks
    senders = classes.rank[from_rank + patterns.src[chosen]].tolist()
    receivers = classes.rank[from_rank + patterns.dst[chosen]].tolist()
    for shape, repetitions in enumerate(times):
        for step, repeated in enumerate(repetitions):
            part = [
                (number, senders[number], receivers[number], sizes[number], *mixes[number], *when)
                for number in by_step.get((shape, step), ())
                for when in [timing(direct[number], latency[number], before)]
            ]
            for _ in range(repeated):
                now: dict[int, list[int]] = {}
                for number, a, b, size, resources, weights, arriving, leaving in part:
                    after = sorted({*touched.get(a, ()), *touched.get(b, ())})
                    index = len(flows)
                    flows.append(Flow(size, resources, weights, arriving, leaving, tuple(after)))
                    took.append(number)
                    now.setdefault(a, []).append(index)
                    now.setdefault(b, []).append(index)
                touched.update(now)
    return Unrolled(Together(flows), np.array(took, dtype=np.intp))


def _mixes(classes: Classes) -> list[tuple[Indices, Floats]]:
    """For every class of flows, what all its members together take of the first member of each resource
    class.
    """
    patterns = classes.patterns
    members = np.sort(np.unique(classes.resource, return_index=True)[1])
    stands = np.full(len(classes.resource), -1)
    stands[members] = np.arange(len(members))
    flow = np.repeat(classes.flow, patterns.lengths)
    at = stands[patterns.resources]
    weight = patterns.weights
    kept = at >= 0
    count = len(classes.first)
    width = len(members)
    total = np.bincount(flow[kept] * width + at[kept], weight[kept], minlength=count * width)
    table = np.asarray(total, dtype=np.float64).reshape(count, width)
    found: list[tuple[Indices, Floats]] = []
    for row in table:
        used: Indices = np.flatnonzero(row)
        weights: Floats = row[used]
        found.append((members[used], weights))
    return found
