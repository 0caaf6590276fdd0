"""One message between two devices, as a case asks for it: by the same flows and starts as a collective."""

from __future__ import annotations

import msgspec

from trnbench.emulator.fabric.messages import Traffic, read, send
from trnbench.emulator.fabric.network import Network
from trnbench.emulator.fabric.systems import Fabric
from trnbench.errors import KernelError
from trnbench.topology.graph import NodeKind, Topology

NEIGHBOUR, OTHER_HOST = "neighbour", "other-host"


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """`hops` links lie between the two, `classes` are those that carry something, the busiest first."""

    traffic: Traffic
    network: Network
    hops: int
    classes: tuple[str, ...]
    src: str
    dst: str


def pair_of(fabric: Fabric, reach: str, size: float, *, reads: bool) -> Pair:
    """`size` bytes from device 0 to its first neighbour, or to the device at the same place of the next
    host; with `reads` the other one asks for them first. `fabric` has one rank per device.

    Raises KernelError where there is no such device.
    """
    if fabric.clustered and fabric.system.size > 2:
        fabric = fabric.of_size(2)  # two instances tell all there is to know of a pair
    network = fabric.network
    src, dst = _ends(fabric.topology, reach, fabric.system.name)
    traffic = (read if reads else send)(fabric, src, dst, size)
    busy = traffic.loads / network.bandwidth
    used = [network.links[i].cls for i in (-busy).argsort(kind="stable") if traffic.loads[i] > 0]
    return Pair(
        traffic=traffic,
        network=network,
        hops=network.route(src, dst).hops,
        classes=tuple(dict.fromkeys(used)),
        src=network.nodes[network.ranks[src]].name,
        dst=network.nodes[network.ranks[dst]].name,
    )


def _ends(topology: Topology, reach: str, name: str) -> tuple[int, int]:
    """Ranks of the two."""
    devices = topology.devices
    rank = {device.id: i for i, device in enumerate(devices)}
    if reach == OTHER_HOST:
        other = next((each for each in devices if each.host != devices[0].host), None)
        if other is None:
            raise KernelError(f"{name} has one host, there is no other to reach")
        same = [each for each in devices if each.host == other.host]
        return 0, rank[same[0].id]
    for link in topology.out[devices[0].id]:
        there = topology.nodes[link.dst]
        if there.kind == NodeKind.DEVICE and there.host == devices[0].host:
            return 0, rank[link.dst]
    if any(topology.nodes[link.dst].kind == NodeKind.SWITCH for link in topology.out[devices[0].id]):
        return 0, 1
    raise KernelError(f"{topology.name}: device 0 has no neighbour")
