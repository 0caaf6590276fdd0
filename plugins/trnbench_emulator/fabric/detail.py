"""What a report draws of a collective beside its numbers: load of every link, other algorithms, scaling.

Small enough to be stored with a run: loads are runs of equal values, in thousandths.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from trnbench.topology import Topology
from trnbench_emulator.fabric.algorithms.algorithm import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    REDUCE_SCATTER,
)
from trnbench_emulator.fabric.answer import Answer
from trnbench_emulator.fabric.ask import ask, compared
from trnbench_emulator.fabric.endpoints import RANK
from trnbench_emulator.fabric.explanation import utilisation
from trnbench_emulator.fabric.maxmin import Indices
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.question import Question
from trnbench_emulator.fabric.systems import Fabric

COMPARED = (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL)
"""Collectives whose algorithms are set side by side."""
SCALED = (ALL_REDUCE, ALL_TO_ALL)
"""Collectives that are asked on more and more ranks."""
DRAWN = "drawn links"
"""Of `Network.memo`: where the links of a picture are among those of the network."""
LARGEST_PART = 32
"""Ranks of the largest part of a system that scaling looks at: larger ones have no symmetry."""


def link_load(topology: Topology, answer: Answer) -> list[list[int]]:
    """[how many, thousandths of capacity] for the links of `topology` in its order; 0 where unused.

    Links from a device to its own ranks are left out: no picture shows them.
    """
    network, solution = answer.carried.network, answer.carried.solution
    thousandths = np.rint(utilisation(network, solution) * 1000).astype(np.int64)
    values = np.append(thousandths, 0)[_drawn(topology, network)]  # the last place: links that carry nothing
    ends = np.append(np.flatnonzero(np.diff(values)), len(values) - 1)
    counts = np.diff(ends, prepend=-1)
    runs: list[list[int]] = np.stack([counts, values[ends]], axis=1).tolist()
    return runs


def _drawn(topology: Topology, network: Network) -> Indices:
    """By link of `topology` that is shown its place in the network, -1 where it has none there."""
    kept: tuple[Topology, Indices] | None = network.memo.get(DRAWN)
    if kept is None or kept[0] is not topology:
        place = {
            (network.nodes[link.src].name, network.nodes[link.dst].name, link.cls): number
            for number, link in enumerate(network.links)
        }
        names = [node.name for node in topology.nodes]
        shown = [link for link in topology.links if link.cls != RANK]
        places = [place.get((names[link.src], names[link.dst], link.cls), -1) for link in shown]
        kept = network.memo[DRAWN] = topology, np.array(places, dtype=np.intp)
    return kept[1]


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
    if not fabric.clustered and answer.hottest:
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
