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
)
from trnbench.emulator.fabric.answer import Answer
from trnbench.emulator.fabric.ask import ask, compared
from trnbench.emulator.fabric.endpoints import RANK
from trnbench.emulator.fabric.question import Question
from trnbench.emulator.fabric.systems import Fabric
from trnbench.topology.graph import Topology

COMPARED = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL)
"""Collectives whose algorithms are set side by side."""
SCALED = (ALL_REDUCE, ALL_TO_ALL)
"""Collectives that are asked on more and more ranks."""
LARGEST_PART = 32
"""Ranks of the largest part of a system that scaling looks at: larger ones have no symmetry."""


def link_load(topology: Topology, answer: Answer) -> list[list[int]]:
    """[how many, thousandths of capacity] for the links of `topology` in its order; 0 where unused.

    Links from a device to its own ranks are left out: no picture shows them.
    """
    load = {(link.src, link.dst, link.cls): round(link.utilisation * 1000) for link in answer.links}
    names = [node.name for node in topology.nodes]
    shown = [link for link in topology.links if link.cls != RANK]
    values = [load.get((names[link.src], names[link.dst], link.cls), 0) for link in shown]
    return [[sum(1 for _ in same), value] for value, same in groupby(values)]


def scaling(fabric: Fabric, question: Question) -> list[list[float]]:
    """[ranks, busbw in bytes/s] on two devices and more, all of them last; a cluster grows by instances."""
    system, per_device = fabric.system, fabric.ranks_per_device
    if fabric.clustered:
        counts = [2 * 8**k for k in range(6) if 2 * 8**k < system.size]
        smaller = [
            msgspec.structs.replace(question, system=msgspec.structs.replace(system, size=count))
            for count in counts
        ]
    else:
        counts = [2**k for k in range(1, 12) if 2**k < system.devices and 2**k * per_device <= LARGEST_PART]
        smaller = [
            msgspec.structs.replace(question, ranks=tuple(range(count * per_device))) for count in counts
        ]
    return [_point(ask(each)) for each in (*smaller, question)]


def _point(answer: Answer) -> list[float]:
    """Bus bandwidth of these ranks, as nccom-test counts it."""
    return [answer.ranks, round(answer.size * answer.factor / answer.time_s)]


def detail(fabric: Fabric, answer: Answer, *, from_last: int) -> dict[str, Any]:
    """For `Measurement.detail`. `from_last` counts sizes of the sweep from the largest, for which scaling is
    added.
    """
    drawn = {"rank": answer.question.level, "context": answer.question.context, **answer.detail()}
    if not fabric.clustered and answer.links:
        drawn["link_load"] = link_load(fabric.topology, answer)
    if answer.question.groups:
        return drawn  # algorithms and scaling are shown of all ranks together
    if fabric.size > 1 and answer.collective in COMPARED:
        drawn["by_algorithm"] = {
            "ranks": fabric.size,
            "per_device": fabric.ranks_per_device,
            "taken": answer.algorithm,
            "seconds": compared(answer.question),
        }
    if fabric.size > 1 and answer.collective in SCALED and from_last == 0:
        drawn["scaling"] = scaling(fabric, answer.question)
    return drawn
