"""Graphs of the Trn2 instances and of the UltraServer made of four of them."""

from __future__ import annotations

from trnbench import System
from trnbench.topology import (
    DIRECTION_REASON,
    ONE_WAY,
    Assembly,
    Server,
    Topology,
    add_devices,
    add_servers,
    check_direction,
    connect_ring,
    connect_torus,
    efa_budget,
    efa_classes,
    host_class,
    lone_device,
    neuronlink_budget,
    neuronlink_class,
    neuronlink_total,
    open_cores,
    positions,
    total,
)

SIDES = (4, 4)

# The runtime's page of performance tips: devices 4 to 11 hang on NUMA node 0.
NUMA = (tuple(range(4, 12)), (*range(4), *range(12, 16)))
SERVER = Server(numa=NUMA, adapters=tuple((d,) for d in range(16)))

PRINTED = (
    (12, 3, 4, 1),
    (13, 0, 5, 2),
    (14, 1, 6, 3),
    (15, 2, 7, 0),
    (0, 7, 8, 5),
    (1, 4, 9, 6),
    (2, 5, 10, 7),
    (3, 6, 11, 4),
    (4, 11, 12, 9),
    (5, 8, 13, 10),
    (6, 9, 14, 11),
    (7, 10, 15, 8),
    (8, 15, 0, 13),
    (9, 12, 1, 14),
    (10, 13, 2, 15),
    (11, 14, 3, 12),
)
"""Neighbours of devices 0 to 15 in the order in which `neuron-ls` lists them."""


def networked(system: System, *, neuronlink_direction: str = ONE_WAY, cores: bool = False) -> Topology:
    """The 4×4 torus of trn2-16.48xlarge. In u-trn2x64 devices of one index form a ring through the four
    instances, a 4×4×4 torus."""
    return _tori(system, neuronlink_direction, cores)


def lone_instance(system: System, *, neuronlink_direction: str = ONE_WAY, cores: bool = False) -> Topology:
    """trn2n.48xlarge: the same torus; no document gives its network, so it has no adapter here."""
    return _tori(system, neuronlink_direction, cores, adapters=False)


def single_device(system: System, *, neuronlink_direction: str = ONE_WAY, cores: bool = False) -> Topology:
    """trn2.3xlarge: one device and its host; no document says how its network is attached."""
    check_direction(neuronlink_direction)
    return lone_device(
        system.name,
        system.figures,
        cores,
        "no document gives the host's processors and memory, nor how its network is attached",
    )


def _tori(system: System, reading: str, cores: bool, *, adapters: bool = True) -> Topology:
    figures, instances = system.figures, system.hosts
    inside = neuronlink_total(figures, reading, "intra-instance")
    assembly = Assembly(system.name)
    devices = add_devices(assembly, instances, positions(SIDES))
    assembly.declare(neuronlink_class(figures, inside, 4))
    for group in devices:
        connect_torus(assembly, group, SIDES, "neuronlink")
    budgets = [
        neuronlink_budget(
            figures, "NeuronLink-v3 inside the instance", ("neuronlink",), inside, reading, "intra-instance"
        )
    ]
    notes = [DIRECTION_REASON[reading]]
    if instances > 1:
        between = neuronlink_total(figures, reading, "inter-instance")
        assembly.declare(neuronlink_class(figures, between, 2, name="neuronlink-inter"))
        for same in zip(*devices, strict=True):
            connect_ring(assembly, same, "neuronlink-inter")
        both = ("neuronlink", "neuronlink-inter")
        budgets += [
            neuronlink_budget(
                figures, "NeuronLink-v3 between instances", both[1:], between, reading, "inter-instance"
            ),
            neuronlink_budget(figures, "NeuronLink-v3 per device", both, total((inside, between)), reading),
        ]
    assembly.declare(host_class(figures))
    if adapters:
        assembly.declare(*efa_classes(figures))
        add_servers(assembly, devices, SERVER, host_cls="host", adapter_cls="adapter", network_cls="efa")
        budgets.append(efa_budget(figures, instances * len(SERVER.adapters)))
        notes.append("every device has an EFA adapter of its own, as the device maps over EFA list them")
    else:
        add_servers(assembly, devices, Server(numa=NUMA), host_cls="host")
        notes.append("no document gives the network: none is drawn")
    open_cores(assembly, figures, cores)
    notes.append("no link joins the two NUMA nodes: no document gives one a figure")
    return assembly.finish(
        ("torus", *SIDES) if instances == 1 else ("torus", instances, *SIDES),
        notes=notes,
        budgets=budgets,
        printed_neighbours={"neuron-ls": PRINTED},
    )


def groups(topology: Topology) -> tuple[tuple[int, ...], ...]:
    """Devices of one place in each instance: the rings of the third dimension."""
    hosts: dict[int, list[int]] = {}
    for device in topology.devices:
        hosts.setdefault(device.host, []).append(device.id)
    return tuple(zip(*hosts.values(), strict=True))
