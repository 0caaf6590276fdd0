"""What a report draws of a collective beside its numbers: load of every link, other algorithms, scaling.

Small enough to be stored with a run: loads are runs of equal values, in thousandths.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from trnbench.emulator.fabric.algorithms.algorithm import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    REDUCE_SCATTER,
    NotPossible,
)
from trnbench.emulator.fabric.cluster_runner import runner_of
from trnbench.emulator.fabric.collective import time_of
from trnbench.emulator.fabric.opened import RANK
from trnbench.emulator.fabric.result import Result
from trnbench.emulator.fabric.runner import HALVES
from trnbench.emulator.fabric.systems import Fabric
from trnbench.kernels.families.collective import busbw_factor
from trnbench.topology.graph import Topology

COMPARED = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL)
"""Collectives whose algorithms are set side by side."""
SCALED = (ALL_REDUCE, ALL_TO_ALL)
"""Collectives that are asked on more and more ranks."""
LARGEST_PART = 32
"""Ranks of the largest part of a system that scaling looks at: larger ones have no symmetry."""


def link_load(topology: Topology, result: Result) -> list[list[int]]:
    """[how many, thousandths of capacity] for the links of `topology` in its order; 0 where unused.

    Links from a device to its own ranks are left out: no picture shows them.
    """
    load = {(each.src, each.dst, each.cls): round(each.utilisation * 1000) for each in result.links}
    names = [node.name for node in topology.nodes]
    shown = [link for link in topology.links if link.cls != RANK]
    values = [load.get((names[link.src], names[link.dst], link.cls), 0) for link in shown]
    return [[sum(1 for _ in same), value] for value, same in groupby(values)]


def by_algorithm(fabric: Fabric, collective: str, size: float) -> dict[str, Any]:
    """Seconds of every algorithm that is possible and soon answered; `taken` is what `auto` takes."""
    runner = runner_of(fabric, collective, size)
    taken = runner.auto()
    seconds = {**taken.tried, taken.schedule.algorithm: taken.solution.time_s}
    for name in runner.names():
        if name not in seconds and name not in HALVES and runner.worth(name):
            try:
                seconds[name] = runner.named(name).solution.time_s
            except NotPossible:
                continue
    return {
        "ranks": fabric.size,
        "per_device": fabric.ranks_per_device,
        "taken": taken.schedule.algorithm,
        "seconds": seconds,
    }


def scaling(fabric: Fabric, collective: str, size: float) -> list[list[float]]:
    """[ranks, busbw in bytes/s] on two devices and more, all of them last; a cluster grows by instances."""
    if fabric.clustered:
        counts = [2 * 8**k for k in range(6) if 2 * 8**k < fabric.system.size]
        grown = [fabric.of_size(n) for n in counts]
        return [_point(each, collective, size) for each in (*grown, fabric)]
    each = fabric.ranks_per_device
    counts = [2**k for k in range(1, 12) if 2**k < fabric.system.devices and 2**k * each <= LARGEST_PART]
    found = [_point(fabric, collective, size, list(range(count * each))) for count in counts]
    return [*found, _point(fabric, collective, size)]


def _point(fabric: Fabric, collective: str, size: float, group: list[int] | None = None) -> list[float]:
    """Bus bandwidth of these ranks, as nccom-test counts it."""
    ranks = len(group) if group else fabric.size
    seconds = time_of(fabric, collective, size, group=group)
    return [ranks, round(size * busbw_factor(collective, ranks) / seconds)]


def detail(fabric: Fabric, collective: str, size: float, result: Result, *, from_last: int) -> dict[str, Any]:
    """For `Measurement.detail`. `from_last` counts sizes of the sweep from the largest, for which scaling is
    added.
    """
    found = result.detail()
    if not fabric.clustered and result.links:
        found["link_load"] = link_load(fabric.topology, result)
    if fabric.size > 1 and collective in COMPARED:
        found["by_algorithm"] = by_algorithm(fabric, collective, size)
    if fabric.size > 1 and collective in SCALED and from_last == 0:
        found["scaling"] = scaling(fabric, collective, size)
    return found
