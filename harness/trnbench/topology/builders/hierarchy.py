"""What surrounds the devices: servers with NUMA hosts and EFA adapters, a network, cores inside."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trnbench.topology.builders.assembly import Assembly
from trnbench.topology.builders.switch import connect_switch
from trnbench.topology.graph import NodeKind


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """How one server is wired. Numbers are positions of devices within the server.

    `numa` lists the devices of each NUMA node, `adapters` the devices that share each EFA adapter.
    """

    numa: tuple[tuple[int, ...], ...]
    adapters: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def plain(cls, devices: int, *, adapters: bool = True) -> Server:
        """One host; one adapter for each device, or none."""
        each = tuple((i,) for i in range(devices)) if adapters else ()
        return cls(numa=(tuple(range(devices)),), adapters=each)


def add_devices(
    assembly: Assembly,
    servers: int,
    each: Sequence[tuple[int, ...]],
    *,
    outer: Sequence[tuple[int, ...]] = (),
) -> list[list[int]]:
    """Adds the devices of every server and returns their ids, server by server.

    `each` are the coordinates within a server, `outer` those of the servers; the coordinate of a
    device is the one followed by the other. A lone server adds neither coordinate nor prefix.
    """
    places = outer or [(s,) for s in range(servers)]
    ids = []
    for s in range(servers):
        prefix, place = ("", ()) if servers == 1 else (f"s{s}.", places[s])
        ids.append(
            [assembly.add(f"{prefix}d{i}", NodeKind.DEVICE, place + at, s) for i, at in enumerate(each)]
        )
    return ids


def add_servers(
    assembly: Assembly,
    devices: Sequence[Sequence[int]],
    server: Server,
    *,
    host_cls: str,
    adapter_cls: str = "",
    network_cls: str = "",
) -> None:
    """Gives every group of `devices` its hosts and adapters, and joins all adapters in one network.

    The network is a single node: documents call it non-blocking, so only the adapters' own links
    can be a bottleneck.
    """
    adapters: list[int] = []
    for s, group in enumerate(devices):
        prefix = "" if len(devices) == 1 else f"s{s}."
        for k, members in enumerate(server.numa):
            name = f"{prefix}numa{k}" if len(server.numa) > 1 else f"{prefix}host"
            host = assembly.add(name, NodeKind.HOST, (s, k), s)
            for member in members:
                assembly.join(group[member], host, host_cls)
        for k, members in enumerate(server.adapters):
            adapter = assembly.add(f"{prefix}efa{k}", NodeKind.ADAPTER, (s, k), s)
            adapters.append(adapter)
            for member in members:
                assembly.join(group[member], adapter, adapter_cls)
    if adapters:
        connect_switch(assembly, "network", adapters, network_cls, kind=NodeKind.NETWORK)


def add_cores(assembly: Assembly, per_device: int, cls: str) -> None:
    """Opens every device into its NeuronCores: core c of device d is called "d.c"."""
    for device in [node for node in assembly.nodes if node.kind == NodeKind.DEVICE]:
        for c in range(per_device):
            core = assembly.add(f"{device.name}.c{c}", NodeKind.CORE, (*device.coord, c), device.host)
            assembly.join(core, device.id, cls)
