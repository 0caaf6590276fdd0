"""What leaves one device, one rank and one host at most: the widths that bounds are made of."""

from __future__ import annotations

import msgspec

from trnbench.topology.graph import LinkKind, NodeKind
from trnbench_emulator.clock import TICKS_PER_SECOND
from trnbench_emulator.fabric.network import Network


class Ports(msgspec.Struct, frozen=True, kw_only=True):
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


def ports_of(network: Network) -> Ports:
    """The widest of each kind; kept with the network. Raises TopologyError where ranks are not connected."""
    found: Ports | None = network.memo.get("ports")
    if found is None:
        found = network.memo["ports"] = _measured(network)
    return found


def _measured(network: Network) -> Ports:
    nodes: dict[int, int] = {}
    over = {link.src: link.dst for link in network.links if network.nodes[link.src].kind is NodeKind.CORE}
    for rank, device in enumerate(network.shared):
        nodes[device] = over.get(network.ranks[rank], network.ranks[rank])
    devices, ranks = set(nodes.values()), set(network.ranks)
    out: dict[int, float] = {}
    hosts: dict[int, float] = {network.nodes[node].host: 0.0 for node in devices}
    for link, rate in zip(network.links, network.bandwidth, strict=True):
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
        farthest_s=max(latencies) / TICKS_PER_SECOND,
        nearest_s=min(latencies) / TICKS_PER_SECOND,
    )
