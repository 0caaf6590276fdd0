"""Max–min fair sharing of links among flows that each use a fixed mix of links.

Progressive filling (Bertsekas and Gallager, Data Networks, 2nd ed. 1992, section 6.5.2): all rates
rise together until a resource is full; the flows that cross it are frozen; the rest go on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trnbench.record import Record

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class Usage(Record):
    """How much of each resource one byte per second of each flow takes: a sparse matrix.

    `flow[i]` uses `weight[i]` of `resource[i]`. A flow that splits over two equal routes has weight
    0.5 on each; an orbit of flows counts every member that crosses one link of an orbit of links.
    """

    flow: Indices
    resource: Indices
    weight: Floats

    @classmethod
    def stack(cls, rows: list[tuple[Indices, Floats]]) -> Usage:
        """One flow per row, each a pair (resources, weights)."""
        lengths = [len(resources) for resources, _ in rows]
        return cls(
            np.repeat(np.arange(len(rows), dtype=np.intp), lengths),
            np.concatenate([r for r, _ in rows]) if rows else np.zeros(0, np.intp),
            np.concatenate([w for _, w in rows]) if rows else np.zeros(0),
        )


FULL = 1e-12
"""Relative headroom at which a resource counts as full: rounding, not a property of any machine."""


def fair_shares(usage: Usage, capacity: Floats, flows: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Rates in bytes/s, one per flow; `capacity` in bytes/s, one per resource. With them, which resources
    are full: without the others all rates would be what they are.

    A flow that uses no resource gets an infinite rate. Resources with no capacity give rate 0.
    """
    flow, resource, weight = usage.flow, usage.resource, usage.weight
    limits = np.zeros(len(capacity), dtype=bool)
    rates = np.full(flows, np.inf)
    taken = np.zeros(len(capacity))
    with np.errstate(divide="ignore", invalid="ignore"):  # by no load: such a resource is the last to be full
        while len(flow):
            level = np.maximum(capacity - taken, 0.0) / np.bincount(resource, weight, len(capacity))
            rate = np.fmin.reduce(level)
            full = level <= rate * (1 + FULL)
            limits |= full
            frozen = np.zeros(flows, dtype=bool)
            frozen[flow[full[resource]]] = True
            rates[frozen] = rate
            gone = frozen[flow]
            taken += rate * np.bincount(resource[gone], weight[gone], len(capacity))
            flow, resource, weight = flow[~gone], resource[~gone], weight[~gone]
    return rates, limits
