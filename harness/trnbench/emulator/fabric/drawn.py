"""What a report draws of a collective beside its numbers: load of every link, other algorithms, scaling.

Small enough to be stored with a run: loads are runs of equal values, in thousandths.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import msgspec

from trnbench.emulator.fabric.algorithms.algorithm import ALL_REDUCE, NotPossible
from trnbench.emulator.fabric.busbw import factor
from trnbench.emulator.fabric.cluster_runner import runner_of
from trnbench.emulator.fabric.collective import time_of
from trnbench.emulator.fabric.result import Result
from trnbench.emulator.fabric.systems import RANK, Fabric
from trnbench.topology.graph import Topology

LARGEST_PART = 32
"""Ranks of the largest part of a system that scaling looks at: larger ones have no symmetry."""
MOST_RANKS = 32
"""Ranks, several of them on each device, up to which other algorithms and sizes are asked for."""
QUICK = ("ring", "bucket", "mesh", "rdh", "kangaring", "switch-direct", "switch-direct-all")
"""Algorithms shown beside the one that ran."""


def link_load(topology: Topology, result: Result) -> list[list[int]]:
    """[how many, thousandths of capacity] for the links of `topology` in its order; 0 where unused.

    Links from a device to its own ranks are left out: no picture shows them.
    """
    load = {(each.src, each.dst, each.cls): round(each.utilisation * 1000) for each in result.links}
    names = [node.name for node in topology.nodes]
    shown = [link for link in topology.links if link.cls != RANK]
    values = [load.get((names[link.src], names[link.dst], link.cls), 0) for link in shown]
    return [[sum(1 for _ in same), value] for value, same in groupby(values)]


def costly(fabric: Fabric) -> bool:
    """Whether other algorithms would take longer to answer than a run may: many ranks on each device."""
    return fabric.ranks_per_device > 1 and fabric.size > MOST_RANKS


def by_algorithm(fabric: Fabric, collective: str, result: Result) -> dict[str, float]:
    """Seconds of every algorithm that is possible and quickly answered, the one that ran among them."""
    size = result.size
    runner = runner_of(fabric, collective, size)
    found = {**result.tried, result.algorithm: result.time_s}
    if costly(fabric):
        return found
    for name in runner.names():
        if name not in found and (fabric.clustered or name in QUICK) and runner.worth(name):
            try:
                found[name] = runner.named(name).solution.time_s
            except NotPossible:
                continue
    return found


def scaling(fabric: Fabric, size: float) -> list[list[float]]:
    """[ranks, busbw in bytes/s] of an all-reduce on more and more ranks, all of them last."""
    if fabric.clustered and costly(fabric):
        return []
    if fabric.clustered:
        counts = [2 * 4**k for k in range(8) if 2 * 4**k < fabric.system.size]
        found = [
            _point(Fabric(msgspec.structs.replace(fabric.system, size=count), fabric.options), size)
            for count in counts
        ]
        return [*found, _point(fabric, size)]
    if costly(fabric):
        return []
    counts = [2**k for k in range(1, 12) if 2**k < fabric.size and 2**k <= LARGEST_PART]
    found = [_point(fabric, size, list(range(count))) for count in counts]
    return [*found, _point(fabric, size)]


def _point(fabric: Fabric, size: float, group: list[int] | None = None) -> list[float]:
    ranks = len(group) if group else fabric.size
    seconds = time_of(fabric, ALL_REDUCE, size, group=group)
    return [ranks, round(size * factor(ALL_REDUCE, ranks) / seconds)]


def detail(fabric: Fabric, collective: str, size: float, result: Result, *, last: bool) -> dict[str, Any]:
    """For `Measurement.detail`. `last`: the largest message of the sweep, for which scaling is added."""
    found = result.detail()
    if not fabric.clustered and result.links:
        found["link_load"] = link_load(fabric.topology, result)
    if collective == ALL_REDUCE:
        found["by_algorithm_s"] = by_algorithm(fabric, collective, result)
        if last:
            found["scaling"] = scaling(fabric, size)
    return found
