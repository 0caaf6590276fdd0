"""What a report draws of a collective beside its numbers: load of every link, other algorithms, scaling.

Small enough to be stored with a run: loads are runs of equal values, in thousandths.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import msgspec

from trnbench.emulator.fabric.algorithms.algorithm import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    REDUCE_SCATTER,
    NotPossible,
)
from trnbench.emulator.fabric.busbw import factor
from trnbench.emulator.fabric.cluster_runner import runner_of
from trnbench.emulator.fabric.collective import time_of
from trnbench.emulator.fabric.result import Result
from trnbench.emulator.fabric.systems import RANK, Fabric
from trnbench.topology.graph import Topology

COMPARED = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL)
"""Collectives whose algorithms are set side by side."""
SCALED = (ALL_REDUCE, ALL_TO_ALL)
"""Collectives that are asked on more and more ranks."""
LARGEST_PART = 32
"""Ranks of the largest part of a system that scaling looks at: larger ones have no symmetry."""
MANY = 32
"""Ranks above which other algorithms are asked at every second size of a sweep, counted from its end."""
LEFT_OUT = ("ring-1", "ring-2", "bucket-1", "bucket-2")
"""Halves of an algorithm that is asked as a whole."""
SLOW = ("hierarchical-mesh",)
"""Left out where ranks are many: seconds to answer, and never the quickest."""


def link_load(topology: Topology, result: Result) -> list[list[int]]:
    """[how many, thousandths of capacity] for the links of `topology` in its order; 0 where unused.

    Links from a device to its own ranks are left out: no picture shows them.
    """
    load = {(each.src, each.dst, each.cls): round(each.utilisation * 1000) for each in result.links}
    names = [node.name for node in topology.nodes]
    shown = [link for link in topology.links if link.cls != RANK]
    values = [load.get((names[link.src], names[link.dst], link.cls), 0) for link in shown]
    return [[sum(1 for _ in same), value] for value, same in groupby(values)]


def by_algorithm(devices: Fabric, collective: str, size: float) -> dict[str, Any]:
    """Seconds of every algorithm that is possible, one rank on each device; `taken` is the one that the
    documents' thresholds take there.
    """
    runner = runner_of(devices, collective, size)
    taken = runner.auto()
    seconds = {**taken.tried, taken.schedule.algorithm: taken.solution.time_s}
    for name in runner.names():
        slow = not devices.clustered and devices.size > MANY and name in SLOW
        if name in seconds or name in LEFT_OUT or slow or not runner.worth(name):
            continue
        try:
            seconds[name] = runner.named(name).solution.time_s
        except NotPossible:
            continue
    shown = {name: each for name, each in seconds.items() if name not in LEFT_OUT}
    return {"ranks": devices.size, "taken": taken.schedule.algorithm, "seconds": shown or seconds}


def scaling(devices: Fabric, collective: str, size: float) -> list[list[float]]:
    """[ranks, busbw in bytes/s] on more and more devices, all of them last; a cluster grows by instances."""
    if devices.clustered:
        counts = [2 * 8**k for k in range(6) if 2 * 8**k < devices.system.size]
        grown = [Fabric(msgspec.structs.replace(devices.system, size=n), devices.options) for n in counts]
        return [_point(fabric, collective, size) for fabric in (*grown, devices)]
    counts = [2**k for k in range(1, 12) if 2**k < devices.size and 2**k <= LARGEST_PART]
    found = [_point(devices, collective, size, list(range(count))) for count in counts]
    return [*found, _point(devices, collective, size)]


def _point(fabric: Fabric, collective: str, size: float, group: list[int] | None = None) -> list[float]:
    ranks = len(group) if group else fabric.size
    seconds = time_of(fabric, collective, size, group=group)
    return [ranks, round(size * factor(collective, ranks) / seconds)]


def detail(
    fabric: Fabric, devices: Fabric, collective: str, size: float, result: Result, *, from_last: int
) -> dict[str, Any]:
    """For `Measurement.detail`. `devices` is the same system with one rank on each device, where large
    systems are quickly answered; `from_last` counts sizes of the sweep from the largest, for which scaling
    is added.
    """
    found = result.detail()
    if not fabric.clustered and result.links:
        found["link_load"] = link_load(fabric.topology, result)
    if collective in COMPARED and devices.size > 1 and (devices.size <= MANY or from_last % 2 == 0):
        found["by_algorithm"] = by_algorithm(devices, collective, size)
    if collective in SCALED and devices.size > 1 and from_last == 0:
        found["scaling"] = scaling(devices, collective, size)
    return found
