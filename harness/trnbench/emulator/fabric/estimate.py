"""Cases that use links: collectives, pairs of devices, copies between host and device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from trnbench.emulator.assumed import Assumed
from trnbench.emulator.fabric.algorithms.algorithm import AUTO, NAMES
from trnbench.emulator.fabric.collective import run
from trnbench.emulator.fabric.drawn import detail
from trnbench.emulator.fabric.groups import run_groups
from trnbench.emulator.fabric.pair import NEIGHBOUR, pair_of
from trnbench.emulator.fabric.result import Result
from trnbench.emulator.fabric.systems import ACROSS, INSIDE, Fabric, Options
from trnbench.errors import KernelError, TopologyError
from trnbench.facts.scope import Scope
from trnbench.generation import System
from trnbench.kernels.case import Case
from trnbench.lazy import resolve
from trnbench.results.measurement import Part
from trnbench.topology.graph import NodeKind, Topology

PAIRS = ("point_to_point", "remote_memory_read")
KNOWN = (*NAMES, *PAIRS)
"""Values of `implementations["collective"]` that have a model."""


class FabricEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """The time of a case on links, its parts in seconds, and where they are drawn from."""

    time_s: float
    parts: tuple[Part, ...]
    bound: str
    implementation: str
    notes: tuple[str, ...]
    counters: dict[str, float]
    detail: dict[str, Any] = {}


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """One message: `latency_s` independent of the size, `transfer_s` proportional to it, on `link`."""

    latency_s: float
    transfer_s: float
    algorithm: str
    link: str
    memory_bytes: float


class FabricModel:
    """The flow model over each system; networks are built once."""

    def __init__(self) -> None:
        self._fabrics: dict[tuple[int, str], tuple[System, Fabric]] = {}
        self._known: dict[tuple[int, str, float, int], tuple[System, FabricEstimate]] = {}

    def fabric(self, system: System, level: str = "device") -> Fabric:
        key = (id(system), level)
        found = self._fabrics.get(key)
        if found is None or found[0] is not system:
            found = self._fabrics[key] = (system, Fabric(system, Options(level=level)))
        return found[1]

    def collective(self, case: Case, system: System) -> FabricEstimate:
        """A collective of all devices, or of groups of them, by the name in `implementations`."""
        name = str(case.kernel.implementations["collective"])
        work = case.kernel.work(case.key.point, case.extent)
        size = work.bytes.get("payload", work.link_bytes)
        if name in PAIRS:
            return self.pair(case, system, size, read=name == "remote_memory_read")
        if name not in NAMES:
            raise KernelError(
                f"no model of collective {name!r} of kernel {case.kernel.name}",
                cause=f"known: {', '.join(KNOWN)}",
            )
        levels = {self.fabric(system, level).size: level for level in ("logical-core", "device")}
        if case.extent.ranks not in levels:
            raise KernelError(
                f"{system.name}: a collective of {case.extent.ranks} ranks on {system.devices} devices",
                cause="a case takes all devices together, or all their logical cores",
            )
        fabric = self.fabric(system, levels[case.extent.ranks])
        if case.kernel.groups:
            groups = resolve(case.kernel.groups)(fabric.topology)
            result = run_groups(fabric, name, size, groups, with_links=True)
            return _estimate(fabric, result, result.detail())
        sweep = [axis for axis in case.kernel.axes if axis.name == "size"]
        # Of an axis that takes any size every case is the last one.
        larger = sum(float(str(each)) > size for each in sweep[0].values) if sweep else 0
        # Bytes are bytes: cases of one size and several data types have one answer.
        key = (id(system), f"{name} {fabric.options.level}", size, larger)
        known = self._known.get(key)
        if known is None or known[0] is not system:
            result = run(fabric, name, size, algorithm=AUTO, with_links=True)
            shown = detail(fabric, name, size, result, from_last=larger)
            found = _estimate(fabric, result, shown)
            known = self._known[key] = (system, found)
        return known[1]

    def pair(self, case: Case, system: System, size: float, *, read: bool) -> FabricEstimate:
        """One message between two devices, by the flow model: what a collective pays, it pays."""
        fabric = self.fabric(system)
        found = pair_of(fabric, str(case.key.point.get("reach", NEIGHBOUR)), size, reads=read)
        traffic = found.traffic
        memory = traffic.memory_s
        times = {
            "latency": traffic.latency_s,
            "link": max(traffic.time_s - traffic.latency_s - traffic.overhead_s, 0.0),
            "hbm": memory,
            "overhead": traffic.overhead_s,
        }
        bound = max(times, key=lambda name: (times[name], name))
        assumed = Assumed(system)
        for cls in found.classes:
            figure = found.network.topology.classes[cls].latency
            if figure.assumed and figure.origin in system.book.assumptions:
                assumed.value(figure.origin)
        limit = found.classes[0] if bound == "link" else bound
        how = "read over one route" if read else "one route"
        return FabricEstimate(
            time_s=traffic.time_s,
            parts=tuple(Part(name=name, seconds=seconds) for name, seconds in times.items() if seconds),
            bound=bound,
            implementation=f"collective: {how}, limited by {limit}",
            notes=(f"{found.hops} links: {found.src} to {found.dst}", *assumed.notes()),
            counters={"hbm_bytes": 2 * size},
        )

    def host_copy(self, case: Case, system: System) -> FabricEstimate:
        """Every device over its own link to its host, at once."""
        topology = self._pair_topology(system)
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
        cls = topology.classes[links[0].cls]
        amount = case.kernel.work(case.key.point, case.extent).bytes["host"] / max(case.extent.devices, 1)
        cost = Cost(
            latency_s=cls.latency.value,
            transfer_s=amount / cls.bandwidth.value,
            algorithm="copy",
            link=links[0].cls,
            memory_bytes=amount,
        )
        names = tuple(figure.origin for figure in (cls.bandwidth, cls.latency) if figure.assumed)
        return self._finish(system, cost, names)

    def _pair_topology(self, system: System) -> Topology:
        """Of two instances, however many the cluster has."""
        fabric = self.fabric(system)
        return fabric.of_size(2).topology if fabric.clustered else fabric.topology

    def _finish(self, system: System, cost: Cost, origins: Sequence[str]) -> FabricEstimate:
        assumed = Assumed(system)
        for name in origins:
            if name in system.book.assumptions:
                assumed.value(name)
        hbm_rate = system.fact(Scope.DEVICE, "hbm_bandwidth")
        memory = cost.memory_bytes / hbm_rate if hbm_rate else 0.0
        transfer = max(cost.transfer_s, memory)
        parts = {"latency": cost.latency_s, "link": cost.transfer_s, "hbm": memory}
        bound = max(parts, key=lambda name: (parts[name], name))
        return FabricEstimate(
            time_s=cost.latency_s + transfer,
            parts=tuple(Part(name=name, seconds=seconds) for name, seconds in parts.items() if seconds),
            bound=bound,
            implementation=f"model: {cost.algorithm}, limited by {cost.link}",
            notes=assumed.notes(),
            counters={"hbm_bytes": cost.memory_bytes},
        )


def _estimate(fabric: Fabric, result: Result, detail: dict[str, Any]) -> FabricEstimate:
    """The result as parts, notes and a small detail."""
    times = {
        "latency": result.latency_s,
        "link": result.link_s,
        "hbm": result.memory_s,
        "overhead": result.overhead_s,
    }
    bound = max(times, key=lambda name: (times[name], name))
    where = result.hottest[0].cls if result.hottest and bound == "link" else bound
    assumed = Assumed(fabric.system)
    topology = fabric.of_instances(2).topology if fabric.clustered else fabric.topology
    kinds = ACROSS if fabric.clustered else INSIDE
    for cls in topology.classes.values():
        for figure in (cls.bandwidth, cls.latency) if cls.kind in kinds else ():
            if figure.assumed and figure.origin in fabric.system.book.assumptions:
                assumed.value(figure.origin)
    return FabricEstimate(
        time_s=result.time_s,
        parts=tuple(Part(name=name, seconds=seconds) for name, seconds in times.items() if seconds),
        bound=bound,
        implementation=f"collective: {result.algorithm}, limited by {where}",
        notes=(
            _ranks(fabric),
            *([f"algorithm: {result.choice}"] if result.choice else []),
            *result.notes,
            *assumed.notes(),
        ),
        counters={"hbm_bytes": result.memory_bytes},
        detail=detail,
    )


def _ranks(fabric: Fabric) -> str:
    each = fabric.ranks_per_device
    if each == 1:
        return f"{fabric.size:,} ranks, one per device"
    return f"{fabric.size:,} ranks, {each} logical cores per device"
