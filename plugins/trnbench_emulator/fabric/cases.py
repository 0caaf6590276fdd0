"""Cases that use links: collectives, pairs of devices, copies between host and device.

What a report draws beside their numbers is small enough to be stored with a run: loads are runs of equal
values, in thousandths.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from msgspec.structs import replace

from trnbench.errors import KernelError, TopologyError, counted
from trnbench.facts.fact import Scope
from trnbench.generation import System
from trnbench.kernels.kernel import Case
from trnbench.reference import resolve
from trnbench.results.measurement import Part
from trnbench.topology import Figure, NodeKind, Topology
from trnbench_emulator.compiler import AssumptionUse
from trnbench_emulator.estimate import Estimate
from trnbench_emulator.fabric.algorithms.algorithm import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    NAMES,
    REDUCE_SCATTER,
)
from trnbench_emulator.fabric.answer import Answer
from trnbench_emulator.fabric.ask import ask, compared
from trnbench_emulator.fabric.explanation import utilisation
from trnbench_emulator.fabric.maxmin import Indices
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.question import READ, SEND, Question
from trnbench_emulator.fabric.systems import RANK, Fabric, Options, fabric_of

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
        smaller = [replace(question, system=replace(system, size=count)) for count in counts]
    else:
        counts = [2**k for k in range(1, 12) if 2**k < system.devices and 2**k * per_device <= LARGEST_PART]
        smaller = [replace(question, ranks=tuple(range(count * per_device))) for count in counts]
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


NEIGHBOUR, OTHER_HOST = "neighbour", "other-host"
PAIRS = ("point_to_point", "remote_memory_read")
KNOWN = (*NAMES, *PAIRS)
"""Values of `implementations["collective"]` that have a model."""


def estimate(case: Case, system: System) -> Estimate:
    """A collective or a message by the name in `implementations`, else a copy between host and device."""
    return _collective(case, system) if "collective" in case.kernel.implementations else _copy(case, system)


def groups_of(case: Case, fabric: Fabric) -> tuple[tuple[int, ...], ...]:
    """Ranks that take part together; none where all do, or where the kernel's groups are not there."""
    groups: tuple[tuple[int, ...], ...] = (
        resolve(case.kernel.groups)(fabric.topology) if case.kernel.groups else ()
    )
    return groups


def _collective(case: Case, system: System) -> Estimate:
    """Of all devices, or of groups of them."""
    name = str(case.kernel.implementations["collective"])
    work = case.work
    size = work.bytes.get("payload", work.link_bytes)
    if name in PAIRS:
        return _pair(case, system, size, read=name == "remote_memory_read")
    if name not in NAMES:
        raise KernelError(
            f"no model of collective {name!r} of kernel {case.kernel.name}",
            cause=f"known: {', '.join(KNOWN)}",
        )
    fabrics = {
        fabric.size: fabric
        for fabric in (fabric_of(system, Options(level=level)) for level in ("logical-core", "device"))
    }
    fabric = fabrics.get(case.extent.ranks)
    if fabric is None:
        raise KernelError(
            f"{system.name}: a collective of {counted(case.extent.ranks, 'rank')} on "
            f"{counted(system.devices, 'device')}",
            cause="a case takes all devices together, or all their logical cores",
        )
    groups = groups_of(case, fabric)
    sweep = [axis for axis in case.kernel.axes if axis.name == "size"]
    # Of an axis that takes any size every case is the last one.
    larger = sum(float(str(value)) > size for value in sweep[0].values) if sweep else 0
    # Bytes are bytes: cases of one size and several data types ask one question.
    answer = ask(fabric.question(name, size, groups=groups))
    times = answer.parts
    bound = _longest(times)
    where = answer.hottest[0].cls if answer.hottest and bound == "link" else bound
    return Estimate(
        time_s=answer.time_s,
        parts=_parts(times),
        bound=bound,
        implementation=f"collective: {answer.algorithm}, limited by {where}",
        notes=(
            _ranks(fabric),
            *([f"algorithm: {answer.choice}"] if answer.choice else []),
            *answer.notes,
            *_assumed(system, fabric.figures),
        ),
        counters={"hbm_bytes": answer.memory_bytes},
        detail=detail(fabric, answer, from_last=larger),
    )


def _pair(case: Case, system: System, size: float, *, read: bool) -> Estimate:
    """One message between two devices, by the flow model: what a collective pays, it pays."""
    # Two instances tell all there is to know of a pair.
    fabric = _few_instances(system)
    reach = str(case.key.point.get("reach", NEIGHBOUR))
    here, there = 0, rank_at(fabric.topology, reach, system.name)
    answer = ask(fabric.question(READ if read else SEND, size, ranks=(here, there)))
    times = {**answer.parts, "link": max(answer.time_s - answer.latency_s - answer.overhead_s, 0.0)}
    bound = _longest(times)
    classes = list(dict.fromkeys(link.cls for link in answer.links))
    limit = classes[0] if bound == "link" else bound
    how = "read over one route" if read else "one route"
    network = fabric.network
    names = [network.nodes[network.ranks[rank]].name for rank in (here, there)]
    return Estimate(
        time_s=answer.time_s,
        parts=_parts(times),
        bound=bound,
        implementation=f"collective: {how}, limited by {limit}",
        notes=(
            f"{counted(network.route(here, there).hops, 'link')}: {names[0]} to {names[1]}",
            *_assumed(system, (fabric.topology.classes[cls].latency for cls in classes)),
        ),
        counters={"hbm_bytes": 2 * size},
    )


def _copy(case: Case, system: System) -> Estimate:
    """Every device over its own link to its host, at once."""
    topology = _few_instances(system).topology
    links = [
        link
        for link in topology.out[topology.devices[0].id]
        if topology.nodes[link.dst].kind == NodeKind.HOST
    ]
    if not links:
        raise TopologyError(
            f"{topology.name}: no link joins a device to its host",
            cause="the topology builder adds none",
            try_="add a host and its link to the topology",
        )
    link = topology.classes[links[0].cls]
    amount = case.work.bytes["host"] / max(case.extent.devices, 1)
    hbm_rate = system.fact(Scope.DEVICE, "hbm_bandwidth")
    times = {
        "latency": link.latency.value,
        "link": amount / link.bandwidth.value,
        "hbm": amount / hbm_rate if hbm_rate else 0.0,
    }
    return Estimate(
        time_s=times["latency"] + max(times["link"], times["hbm"]),
        parts=_parts(times),
        bound=_longest(times),
        implementation=f"model: copy, limited by {links[0].cls}",
        notes=_assumed(system, (link.bandwidth, link.latency)),
        counters={"hbm_bytes": amount},
    )


def _few_instances(system: System) -> Fabric:
    """Of two instances, however many the cluster has."""
    fabric = fabric_of(system)
    return fabric_of(replace(system, size=2)) if fabric.clustered else fabric


def _longest(times: dict[str, float]) -> str:
    return max(times, key=lambda name: (times[name], name))


def _parts(times: dict[str, float]) -> tuple[Part, ...]:
    return tuple(Part(name=name, seconds=seconds) for name, seconds in times.items() if seconds)


def _assumed(system: System, figures: Iterable[Figure]) -> tuple[str, ...]:
    """A note for each of these figures that the book of the system assumes."""
    assumed = AssumptionUse(system)
    for figure in figures:
        if figure.assumed and figure.origin in system.book.assumptions:
            assumed.value(figure.origin)
    return assumed.notes()


def _ranks(fabric: Fabric) -> str:
    per_device = fabric.ranks_per_device
    if per_device == 1:
        return f"{counted(fabric.size, 'rank')}, one per device"
    return f"{counted(fabric.size, 'rank')}, {per_device} logical cores per device"


def rank_at(topology: Topology, reach: str, name: str) -> int:
    """The device that device 0 sends to: its first neighbour, or the one at its own place of the next host.

    Raises KernelError where there is none.
    """
    devices = topology.devices
    rank = {device.id: number for number, device in enumerate(devices)}
    if reach == OTHER_HOST:
        other = next((device for device in devices if device.host != devices[0].host), None)
        if other is None:
            raise KernelError(f"{name} has one host, there is no other to reach")
        return rank[other.id]
    for link in topology.out[devices[0].id]:
        there = topology.nodes[link.dst]
        if there.kind == NodeKind.DEVICE and there.host == devices[0].host:
            return rank[link.dst]
    if any(topology.nodes[link.dst].kind == NodeKind.SWITCH for link in topology.out[devices[0].id]):
        return 1
    raise KernelError(f"{topology.name}: device 0 has no neighbour")
