"""The flows of one member of each class, step by step: what is simulated in place of all."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from trnbench.emulator.fabric.equivalence import Classes
from trnbench.emulator.fabric.fluid import Flow, timing
from trnbench.emulator.fabric.maxmin import Floats, Indices


class Unrolled(msgspec.Struct, frozen=True):
    """Flows of one member of each class, in order, and which of them belong to each class."""

    flows: list[Flow]
    of_class: dict[int, list[int]]


def unrolled(
    classes: Classes, times: Sequence[Sequence[int]], before: int, late: Sequence[int] = ()
) -> Unrolled:
    """`times[shape]` in place of the repetitions of `classes`. Of the resources that a flow uses it has the
    first member of each class.
    """
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
                    when = timing(each.direct, each.latency, before)
                    flows.append(Flow(each.size, resources, weights, *when, tuple(after)))
                    took.setdefault(int(classes.flow[p]), []).append(index)
                    now.setdefault(a, []).append(index)
                    now.setdefault(b, []).append(index)
                touched.update(now)
    return Unrolled(flows, took)


def _ends(classes: Classes, p: int, ranks: int) -> tuple[int, int]:
    each = classes.patterns[p]
    first = each.chain * ranks
    return int(classes.rank[first + each.src]), int(classes.rank[first + each.dst])


def _mixes(classes: Classes) -> list[tuple[Indices, Floats]]:
    """For every class of flows, what all its members together take of the first member of each resource
    class.
    """
    patterns = classes.patterns
    members = np.sort(np.unique(classes.resource, return_index=True)[1])
    stands = np.full(len(classes.resource), -1)
    stands[members] = np.arange(len(members))
    lengths = [len(p.resources) for p in patterns]
    flow = np.repeat(classes.flow, lengths)
    at = stands[np.concatenate([p.resources for p in patterns])]
    weight = np.concatenate([p.weights for p in patterns])
    kept = at >= 0
    count = int(classes.flow.max()) + 1
    width = len(members)
    total = np.bincount(flow[kept] * width + at[kept], weight[kept], minlength=count * width)
    table = np.asarray(total, dtype=np.float64).reshape(count, width)
    found: list[tuple[Indices, Floats]] = []
    for row in table:
        used: Indices = np.flatnonzero(row)
        weights: Floats = row[used]
        found.append((members[used], weights))
    return found
