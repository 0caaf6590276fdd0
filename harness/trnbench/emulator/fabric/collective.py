"""One collective on one system: choose the algorithm, carry it out, say where the time went."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import msgspec
import numpy as np

from trnbench.emulator.fabric import cluster
from trnbench.emulator.fabric.algorithms import ALGORITHMS
from trnbench.emulator.fabric.algorithms.algorithm import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    COLLECTIVES,
    PERMUTE,
    REDUCE,
    REDUCE_SCATTER,
    NotPossible,
)
from trnbench.emulator.fabric.fluid import TICKS_PER_SECOND, ticks
from trnbench.emulator.fabric.network import Network
from trnbench.emulator.fabric.result import Bound, LinkLoad, Result, Waterfall
from trnbench.emulator.fabric.schedule import Move, Schedule
from trnbench.emulator.fabric.solve import Solution, solve
from trnbench.emulator.fabric.systems import Fabric
from trnbench.errors import UsageError
from trnbench.facts.scope import Scope
from trnbench.topology.graph import LinkKind, NodeKind

BARRIER = "barrier"
NAMES = (*COLLECTIVES, BARRIER)
AUTO, BEST = "auto", "best"
HOTTEST = 3

FALLBACK = (
    "ring",
    "bucket",
    "switch-direct",
    "switch-direct-all",
    "rdh",
    "mesh",
    "scatter-gather",
    "tree",
    "direct",
    "shift",
)
SLOW_ABOVE = 256
"""Ranks above which `best` leaves out algorithms that have to be simulated flow by flow."""
MOST_FLOWS = 4096
"""Flows above which steps that compete unevenly are taken in lockstep."""
ONE_BY_ONE = (
    "ring",
    "ring-1",
    "ring-2",
    "pairwise",
    "tree",
    "hierarchical-ring",
    "hierarchical-rdh",
    "hierarchical-mesh",
)


def factor(collective: str, n: int) -> float:
    """busbw / algbw of nccl-tests and nccom-test."""
    share = (n - 1) / n if n else 0.0
    return {ALL_REDUCE: 2 * share, ALL_GATHER: share, REDUCE_SCATTER: share, ALL_TO_ALL: share}.get(
        collective, 1.0
    )


def run(
    fabric: Fabric,
    collective: str,
    size: float,
    *,
    algorithm: str = AUTO,
    group: Sequence[int] | None = None,
    with_links: bool = False,
) -> Result:
    """`size` bytes: the all-reduce vector, the gathered result, the reduce-scatter input, one rank's
    send buffer of an all-to-all, the message of a broadcast, reduce or permute.

    `algorithm` is a name of ALGORITHMS, `auto` (the documents' thresholds; what they name but the ranks
    do not allow falls back to the best of the rest) or `best` (tries all). `group`: only these ranks.
    Raises UsageError for what is unknown or too small, NotPossible where an algorithm cannot do it.
    """
    runner, found = _carried_out(fabric, collective, size, algorithm, group)
    return runner.result(found, collective, algorithm, with_links)


def time_of(
    fabric: Fabric, collective: str, size: float, *, algorithm: str = AUTO, group: Sequence[int] | None = None
) -> float:
    """Seconds alone, in half the time of `run`. Raises what it raises."""
    return _carried_out(fabric, collective, size, algorithm, group)[1].solution.time_s


def _carried_out(
    fabric: Fabric, collective: str, size: float, algorithm: str, group: Sequence[int] | None
) -> tuple[_Runner, Found]:
    if collective not in NAMES:
        raise UsageError(f"unknown collective {collective!r}", cause=f"there are {', '.join(NAMES)}")
    if not isfinite(size) or size < (0 if collective == BARRIER else 1):
        raise UsageError(
            f"a message of {size:g} bytes cannot be sent", cause="it is one element or more", try_="-b 8"
        )
    verb = ALL_REDUCE if collective == BARRIER else collective
    if collective == BARRIER:
        size = 8.0 * fabric.size
    if fabric.clustered and group is None:
        runner: _Runner = _ClusterRunner(fabric, verb, max(size, 1.0))
    else:
        runner = _Runner(fabric, _network(fabric, group), verb, max(size, 1.0))
    if runner.ranks < 2:
        raise NotPossible(
            "a collective needs at least 2 ranks",
            cause=f"{fabric.system.name} has {runner.ranks} here, one per {fabric.options.level}",
            try_="--ranks core, or a system of several devices",
        )
    if algorithm == AUTO:
        return runner, runner.auto()
    if algorithm == BEST:
        return runner, runner.best()
    return runner, runner.named(algorithm)


def _network(fabric: Fabric, group: Sequence[int] | None) -> Network:
    if group is None:
        return fabric.network
    known: dict[tuple[int, ...], Network] = fabric.network.memo.setdefault("groups", {})
    key = tuple(group)
    if key not in known:
        # Between nodes a ring is what few ranks run: it keeps messages on the way.
        known[key] = fabric.build(fabric.topology, key, pipelined=fabric.clustered)
    return known[key]


class Found(msgspec.Struct, frozen=True):
    """A schedule carried out, with what was tried beside it."""

    schedule: Schedule
    network: Network
    solution: Solution
    tried: dict[str, float]


class _Runner:
    def __init__(self, fabric: Fabric, network: Network, collective: str, size: float) -> None:
        self.fabric, self.network = fabric, network
        self.collective, self.size = collective, size
        self.constants = fabric.constants
        self.ranks = network.size

    def network_of(self, name: str) -> Network:
        """Where this algorithm runs."""
        return self.network

    def names(self) -> tuple[str, ...]:
        """Everything there is to try."""
        return (*ALGORITHMS, "shift")

    def named(self, name: str) -> Found:
        schedule = self._schedule(name)
        network = self.network_of(name)
        return Found(schedule, network, solve(network, schedule, most=MOST_FLOWS), {})

    def auto(self) -> Found:
        """The documents name algorithms for what gathers or reduces; the rest is sent directly."""
        if self.collective in (ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER):
            for each in self.constants.auto:
                if self.size < each.max_bytes:
                    try:
                        return self.named(each.algorithm)
                    except NotPossible:
                        break
        return self.best(FALLBACK)

    def best(self, names: Sequence[str] = ()) -> Found:
        """The quickest of those that can; ties go to the first name. Raises NotPossible if none can."""
        best: Found | None = None
        tried: dict[str, float] = {}
        for name in names or self.names():
            if not self._worth(name):
                continue
            try:
                found = self.named(name)
            except NotPossible:
                continue
            tried[name] = found.solution.time_s
            if best is None or found.solution.time_s < best.solution.time_s:
                best = found
        if best is None:
            raise NotPossible(f"no algorithm does {self.collective} on these {self.network.size} ranks")
        return Found(best.schedule, best.network, best.solution, tried)

    def _worth(self, name: str) -> bool:
        if name == "shift":
            return self.collective == PERMUTE
        if self.collective not in ALGORITHMS[name].collectives:
            return False
        most = SLOW_ABOVE if self.collective != BROADCAST else SLOW_ABOVE // 8
        return self.network.size <= most or name not in ONE_BY_ONE

    def _schedule(self, name: str) -> Schedule:
        if name == "shift":
            if self.collective != PERMUTE:
                raise NotPossible("shift is for permute")
            schedule = shifted(self.network, self.size)
        elif name not in ALGORITHMS:
            raise UsageError(
                f"unknown algorithm {name!r}",
                cause=f"there are {', '.join((AUTO, BEST, *ALGORITHMS, 'shift'))}",
            )
        elif self.collective not in ALGORITHMS[name].collectives:
            able = [each.name for each in ALGORITHMS.values() if self.collective in each.collectives]
            raise NotPossible(
                f"{name} does no {self.collective}", cause=f"these do: {', '.join(able) or 'shift'}"
            )
        else:
            schedule = ALGORITHMS[name].schedule(self.network, self.collective, self.size)
        return charged(schedule, self.constants, self.collective)

    def result(self, found: Found, collective: str, asked: str, with_links: bool) -> Result:
        network, solution = found.network, found.solution
        free = solution
        if network.has_memory:
            free = solve(network.with_free_memory, found.schedule, most=MOST_FLOWS)
        loads = _loads(network, solution)
        bound = self._bound(network)
        start = ticks(found.schedule.startup_s)
        overhead = start + ticks(found.schedule.per_message_s) * found.schedule.steps
        latency = max(round(solution.latency_s * TICKS_PER_SECOND) - overhead, 0)
        memories = network.capacity[len(network.links) :]
        memory = float((solution.accessed / memories).max()) if network.has_memory else 0.0
        # The two may take different shortcuts; a part is never more than the whole.
        moved = max(min(free.total_ticks, solution.total_ticks) - overhead - latency, 0)
        hops = sum(1 for _ in network.links)
        return Result(
            collective=collective,
            algorithm=found.schedule.algorithm,
            asked=asked,
            ranks=self.ranks,
            size=self.size,
            time_s=solution.time_s,
            factor=factor(collective, self.ranks),
            bound=bound,
            waterfall=self._waterfall(found, free, bound, latency, overhead),
            link_s=moved / TICKS_PER_SECOND,
            latency_s=latency / TICKS_PER_SECOND,
            memory_s=memory,
            overhead_s=overhead / TICKS_PER_SECOND,
            hottest=tuple(loads[:HOTTEST]),
            links=tuple(loads) if with_links else (),
            tried=found.tried,
            memory_bytes=float(solution.accessed.max()) if hops or len(solution.accessed) else 0.0,
            unvalidated=unvalidated(self.fabric),
            notes=(found.schedule.note,) if found.schedule.note else (),
            way=solution.way,
        )

    def _waterfall(
        self, found: Found, free: Solution, bound: Bound, latency: int, overhead: int
    ) -> Waterfall:
        """Whole picoseconds; what rounding or overlap takes off one part it takes off it openly."""
        total = found.solution.total_ticks
        endpoint = min(max(total - free.total_ticks, 0) + overhead, total)
        latency = min(latency, total - endpoint)
        moving = total - endpoint - latency
        ideal = min(ticks(bound.bandwidth_s), moving)
        alone = sum(
            max((ticks(_alone(found.network, move)) for move in step.moves), default=0) * step.times
            for step in max(found.schedule.chains, key=lambda chain: sum(step.times for step in chain))
        )
        contention = max(min(moving - max(alone, ideal), moving - ideal), 0)
        return Waterfall(
            ideal=ideal,
            algorithm=moving - ideal - contention,
            contention=contention,
            latency=latency,
            endpoint=endpoint,
        )

    def _bound(self, network: Network) -> Bound:
        size, n = self.size, self.ranks
        known = network.memo.get("ports")
        if known is None:
            known = network.memo["ports"] = _ports(network)
        devices, device_rate, rank_rate, latency, hosts, host_rate = known
        devices = devices * n // network.size  # on a cluster two instances stand for all
        among = devices if devices > 1 else 1
        share, wide = (n - 1) / n, (among - 1) / among
        times = {ALL_REDUCE: 2.0}.get(self.collective, 1.0)
        if self.collective in (BROADCAST, REDUCE):
            share = wide = 1.0
        if self.collective == ALL_TO_ALL:
            wide *= n / devices  # every rank of the device sends its own buffer
        if self.collective == PERMUTE:
            share, wide = 1.0, 0.0
            # Nobody has to reach the farthest rank, only some other.
            latency = min(network.route(0, rank).latency for rank in range(1, network.size))
            latency /= TICKS_PER_SECOND
        inside = times * share * size / rank_rate if rank_rate else 0.0
        outside = times * wide * size / device_rate if device_rate and devices > 1 else 0.0
        between = 0.0
        if self.fabric.clustered and host_rate and hosts > 1:
            m = hosts * n // network.size
            leaving = {ALL_TO_ALL: n / m * (m - 1) / m, BROADCAST: 1.0, REDUCE: 1.0, PERMUTE: 1.0}
            between = times * leaving.get(self.collective, (m - 1) / m) * size / host_rate
        return Bound(
            latency_s=latency,
            bandwidth_s=max(inside, outside, between),
            formula=(
                "bytes that must leave a device, or an instance, / its links' bandwidth, and no less than"
                " one message to the farthest rank (Chan et al. 2007; Patarasuk and Yuan 2009)"
            ),
        )


class _ClusterRunner(_Runner):
    """Any number of instances, carried out on two."""

    def __init__(self, fabric: Fabric, collective: str, size: float) -> None:
        super().__init__(fabric, fabric.of_instances(2), collective, size)
        self.ranks = fabric.size

    def network_of(self, name: str) -> Network:
        return self.fabric.of_instances(2, pipelined=name in cluster.PIPELINED)

    def names(self) -> tuple[str, ...]:
        return cluster.algorithms(self.collective)

    def auto(self) -> Found:
        """No document gives thresholds between nodes."""
        return self.best()

    def _worth(self, name: str) -> bool:
        return True

    def _schedule(self, name: str) -> Schedule:
        schedule = cluster.plan(
            name, self.network_of(name), self.collective, self.size, self.fabric.system.size
        )
        return charged(schedule, self.constants, self.collective)


def _alone(network: Network, move: Move) -> float:
    """Seconds of a move's slowest flow, had it all links to itself."""
    if move.offset is not None:
        assert network.symmetry is not None
        pairs = [(network.symmetry.before(0, move.offset), 0)]  # all routes to one rank: one search
    else:
        pairs = list(move.pairs[: network.size])
    slowest = 0.0
    for src, dst in pairs:
        route = network.route(src, dst)
        if len(route.resources):
            rate = float((network.capacity[route.resources] / route.weights).min())
            slowest = max(slowest, move.size / rate)
    return slowest


def _ports(network: Network) -> tuple[int, float, float, float, int, float]:
    """(devices, bytes/s out of one device, bytes/s out of one rank, seconds to the farthest rank,
    hosts, bytes/s out of one host over the network)."""
    nodes: dict[int, int] = {}
    over = {link.src: link.dst for link in network.links if network.nodes[link.src].kind is NodeKind.CORE}
    for rank, device in enumerate(network.shared):
        nodes[device] = over.get(network.ranks[rank], network.ranks[rank])
    devices, ranks = set(nodes.values()), set(network.ranks)
    out: dict[int, float] = {}
    for link, rate in zip(network.links, network.bandwidth, strict=True):
        if network.topology.classes[link.cls].kind in (LinkKind.NEURONLINK, LinkKind.SWITCH) or (
            network.nodes[link.src].kind is NodeKind.CORE or network.nodes[link.dst].kind is NodeKind.ADAPTER
        ):
            out[link.src] = out.get(link.src, 0.0) + float(rate)
    hosts: dict[int, float] = {network.nodes[node].host: 0.0 for node in devices}
    for link, rate in zip(network.links, network.bandwidth, strict=True):
        if network.nodes[link.dst].kind is NodeKind.NETWORK and network.nodes[link.src].host in hosts:
            hosts[network.nodes[link.src].host] += float(rate)
    latency = max(network.route(rank, 0).latency for rank in range(1, network.size)) / TICKS_PER_SECOND
    return (
        len(devices),
        max((out.get(node, 0.0) for node in devices), default=0.0),
        max((out.get(node, 0.0) for node in ranks), default=0.0),
        latency,
        len(hosts),
        max(hosts.values(), default=0.0),
    )


def _loads(network: Network, solution: Solution) -> list[LinkLoad]:
    """Busiest first; ties in the order of the topology."""
    if not len(network.links) or not solution.time_s:
        return []
    busy = solution.carried / (network.bandwidth * solution.time_s)
    return [
        LinkLoad(
            src=network.nodes[network.links[i].src].name,
            dst=network.nodes[network.links[i].dst].name,
            cls=network.links[i].cls,
            bytes=float(solution.carried[i]),
            utilisation=float(busy[i]),
        )
        for i in np.argsort(-busy, kind="stable")
        if solution.carried[i] > 0
    ]


def shifted(network: Network, size: float) -> Schedule:
    """Every rank to its successor along the first cycle: one step."""
    from trnbench.emulator.fabric.cycles import directed_cycles
    from trnbench.emulator.fabric.schedule import Step

    cycle = directed_cycles(network, 1, 1)[0]
    pairs = tuple((cycle[i], cycle[(i + 1) % len(cycle)]) for i in range(len(cycle)))
    return Schedule(algorithm="shift", chains=((Step(moves=(Move(size=size, pairs=pairs),)),),))


def charged(schedule: Schedule, constants: object, collective: str) -> Schedule:
    """The schedule with its start and steps paid for."""
    from trnbench.emulator.fabric.constants import Constants

    assert isinstance(constants, Constants)
    reduces = collective in (ALL_REDUCE, REDUCE_SCATTER, REDUCE)
    gathers = collective not in (REDUCE_SCATTER, REDUCE)
    start = constants.reduce_start * reduces + constants.gather_start * gathers
    return msgspec.structs.replace(schedule, startup_s=start, per_message_s=constants.step)


def unvalidated(fabric: Fabric) -> bool:
    """Points are published for one instance of trn1 and trn2, and for two trn1 instances."""
    instance = fabric.system.instance
    if not fabric.constants.points and not fabric.options.ideal:
        return True
    return instance.scope.rank > Scope.INSTANCE.rank and not (fabric.clustered and fabric.system.size == 2)
