"""The time that no algorithm beats.

Chan et al. 2007, section 3; Patarasuk and Yuan 2009: what must leave a rank, a device or an instance, over
all its links, and one message to the farthest rank. Documented figures alone make it: no share that a fit
says is reached, and no latency where one is assumed.
"""

from __future__ import annotations

from collections.abc import Sequence

from trnbench.record import Record
from trnbench.topology import LinkKind, NodeKind
from trnbench_emulator import TICKS_PER_SECOND
from trnbench_emulator.fabric.algorithms.algorithm import (
    ALL_GATHER,
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    PERMUTE,
    REDUCE,
    REDUCE_SCATTER,
)
from trnbench_emulator.fabric.maxmin import Floats
from trnbench_emulator.fabric.network import Network
from trnbench_emulator.fabric.schedule import Schedule

FORMULA = (
    "bytes that must leave a device or instance / its links' documented bandwidth. At least one message to"
    " the farthest rank where latencies are documented (Chan et al. 2007; Patarasuk and Yuan 2009)"
)
UNEVEN_FORMULA = (
    "bytes that these shares move in or out of a rank, device or instance / its links' documented bandwidth."
    " At least one message of the largest share, to or from the farthest rank, where latencies are documented"
    " (Chan et al. 2007)"
)
PATTERN_FORMULA = (
    "bytes that leave or enter one rank / its links' documented bandwidth, and no less than the longest way"
    " where latencies are documented"
)


class Bound(Record, kw_only=True):
    """What no algorithm can beat: bytes that must leave or enter a device over all its links, and one
    message to the farthest rank. `formula` names both; the larger counts.
    """

    latency_s: float
    bandwidth_s: float
    formula: str

    @property
    def time_s(self) -> float:
        return max(self.latency_s, self.bandwidth_s)


def bound_of(
    network: Network, collective: str, size: float, n: int, *, clustered: bool, reached: bool = False
) -> Bound:
    """`size` as a question states it, of `n` ranks: as many as `network` has, or those of a cluster
    whose instances two stand for. `reached`: at the rates that the fitted shares leave.
    """
    ports = ports_of(network, reached)
    devices = ports.devices * n // network.size
    among = devices if devices > 1 else 1
    share, wide = (n - 1) / n, (among - 1) / among
    times = {ALL_REDUCE: 2.0}.get(collective, 1.0)
    latency = ports.farthest_s
    if collective in (BROADCAST, REDUCE):
        share = wide = 1.0
    if collective == ALL_TO_ALL:
        wide *= n / devices  # every rank of the device sends its own buffer
    if collective == PERMUTE:
        # Nobody has to reach the farthest rank, only some other.
        share, wide, latency = 1.0, 0.0, ports.nearest_s
    inside = times * share * size / ports.rank_rate if ports.rank_rate else 0.0
    outside = times * wide * size / ports.device_rate if ports.device_rate and devices > 1 else 0.0
    between = 0.0
    if clustered and ports.host_rate and ports.hosts > 1:
        m = ports.hosts * n // network.size
        leaving = {ALL_TO_ALL: n / m * (m - 1) / m, BROADCAST: 1.0, REDUCE: 1.0, PERMUTE: 1.0}
        between = times * leaving.get(collective, (m - 1) / m) * size / ports.host_rate
    return Bound(latency_s=latency, bandwidth_s=max(inside, outside, between), formula=FORMULA)


def uneven_bound(
    network: Network,
    collective: str,
    size: float,
    shares: Sequence[float],
    *,
    clustered: bool,
    reached: bool = False,
) -> Bound:
    """Of ranks that hold, keep, or are sent, these shares of `size`, which add up to 1."""
    ranks = range(len(shares))
    ports = ports_of(network, reached)
    hosts = [network.nodes[rank].host for rank in network.ranks]

    def seconds(part_of: Sequence[int], rate: float) -> float:
        return _busiest(collective, shares, part_of) * size / rate

    times = [seconds(ranks, ports.rank_rate) if ports.rank_rate else 0.0]
    if ports.devices > 1 and ports.device_rate:
        times.append(seconds(network.shared, ports.device_rate))
    if clustered and ports.hosts > 1 and ports.host_rate:
        times.append(seconds(hosts, ports.host_rate))
    largest = shares.index(max(shares))
    others = [rank for rank in ranks if rank != largest]
    if collective == ALL_GATHER:
        latency = max(network.route(largest, rank).latency for rank in others)
    else:
        latency = max(network.route(rank, largest).latency for rank in others)
    return Bound(latency_s=_documented(network, latency), bandwidth_s=max(times), formula=UNEVEN_FORMULA)


def _busiest(collective: str, shares: Sequence[float], part_of: Sequence[int]) -> float:
    """Of the size, what enters or leaves the busiest part, rank r being in `part_of[r]`: gathered and summed
    bytes once per part, the others each for itself.
    """
    share: dict[int, float] = {}
    count: dict[int, int] = {}
    for part, own in zip(part_of, shares, strict=True):
        share[part] = share.get(part, 0.0) + own
        count[part] = count.get(part, 0) + 1
    most = 0.0
    for part, own in share.items():
        rest = max(1 - own, 0.0)
        if collective in (ALL_GATHER, REDUCE_SCATTER):
            most = max(most, rest, own if rest or len(share) > 1 else 0.0)
        else:
            most = max(most, count[part] * rest, (len(shares) - count[part]) * own)
    return most


def pattern_bound(network: Network, schedule: Schedule, *, reached: bool = False) -> Bound:
    """Of messages between pairs of ranks, whatever their routes."""
    leaving: dict[int, float] = {}
    entering: dict[int, float] = {}
    latency = 0
    for chain in schedule.chains:
        for step in chain:
            for move in step.moves:
                for src, dst in move.pairs:
                    leaving[src] = leaving.get(src, 0.0) + move.size * schedule.scale
                    entering[dst] = entering.get(dst, 0.0) + move.size * schedule.scale
                    latency = max(latency, network.route(src, dst).latency)
    rate = ports_of(network, reached).rank_rate
    most = max(*leaving.values(), *entering.values())
    return Bound(
        latency_s=_documented(network, latency),
        bandwidth_s=most / rate if rate else 0.0,
        formula=PATTERN_FORMULA,
    )


class Ports(Record, kw_only=True):
    """Rates in bytes/s: out of one device, out of one rank, out of one host over the network (0: none).

    `farthest_s`: latency of a message to rank 0 from the farthest rank; `nearest_s`: from the nearest.
    """

    devices: int
    device_rate: float
    rank_rate: float
    hosts: int
    host_rate: float
    farthest_s: float
    nearest_s: float


def _documented(network: Network, latency: int) -> float:
    """Seconds of these ticks; 0 where no document gives the latency of a link."""
    assumed = any(network.topology.classes[link.cls].latency.assumed for link in network.links)
    return 0.0 if assumed else latency / TICKS_PER_SECOND


def ports_of(network: Network, reached: bool) -> Ports:
    """The widest of each kind; kept with the network. Raises TopologyError where ranks are not connected."""
    found: Ports | None = network.memo.get(("ports", reached))
    if found is None:
        rates = network.bandwidth if reached else network.documented
        found = network.memo["ports", reached] = _measured(network, rates)
    return found


def _measured(network: Network, rates: Floats) -> Ports:
    devices, ranks = set(network.device_nodes), set(network.ranks)
    out: dict[int, float] = {}
    hosts: dict[int, float] = {network.nodes[node].host: 0.0 for node in devices}
    for link, rate in zip(network.links, rates, strict=True):
        src, dst = network.nodes[link.src], network.nodes[link.dst]
        if network.topology.classes[link.cls].kind in (LinkKind.NEURONLINK, LinkKind.SWITCH) or (
            src.kind is NodeKind.CORE or dst.kind is NodeKind.ADAPTER
        ):
            out[link.src] = out.get(link.src, 0.0) + float(rate)
        if dst.kind is NodeKind.NETWORK and src.host in hosts:
            hosts[src.host] += float(rate)
    latencies = [network.route(rank, 0).latency for rank in range(1, network.size)]
    return Ports(
        devices=len(devices),
        device_rate=max((out.get(node, 0.0) for node in devices), default=0.0),
        rank_rate=max((out.get(node, 0.0) for node in ranks), default=0.0),
        hosts=len(hosts),
        host_rate=max(hosts.values(), default=0.0),
        farthest_s=_documented(network, max(latencies)),
        nearest_s=_documented(network, min(latencies)),
    )
