"""Graphs of the Trn1 and Inf2 instances and of the Trn1 UltraCluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from trnbench import System, TopologyError
from trnbench.topology import (
    DIRECTION_REASON,
    ONE_WAY,
    Assembly,
    Server,
    Topology,
    add_devices,
    add_servers,
    check_direction,
    connect_chain,
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
)

SIDES = (4, 4)

# Which devices hang on which NUMA node, and which share an EFA adapter: the runtime's page of
# performance tips and the connected device maps over EFA.
NUMA = ((0, 1, 4, 5, 8, 9, 12, 13), (2, 3, 6, 7, 10, 11, 14, 15))
PAIRS = tuple((d, d + 1) for d in range(0, 16, 2))
SINGLES = tuple((d,) for d in range(16))

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
"""Neighbours of devices 0 to 15 in the order in which the runtime's page of performance tips lists them."""

ADAPTER_NOTE = "devices 2k and 2k+1 share EFA adapter k, as the device maps over EFA list them"
NUMA_NOTE = "no link joins the two NUMA nodes: no document gives one a figure"


def single_device(system: System, *, neuronlink_direction: str = ONE_WAY, cores: bool = False) -> Topology:
    """One device and its host; the network of this size is no EFA adapter."""
    check_direction(neuronlink_direction)
    return lone_device(system.name, system.figures, cores)


def torus_instance(system: System, *, neuronlink_direction: str = ONE_WAY, cores: bool = False) -> Topology:
    """The 4×4 torus of trn1.32xlarge and trn1n.32xlarge."""
    return _tori(system, 1, neuronlink_direction, cores)


def ultracluster(system: System, *, neuronlink_direction: str = ONE_WAY, cores: bool = False) -> Topology:
    """`system.size` instances, their adapters joined by one non-blocking network."""
    if system.size < 1:
        raise TopologyError(
            f"{system.instance.name}: a cluster of {system.size} instances cannot be built",
            cause="its size counts instances and is 1 or more",
            try_=f"{system.instance.name}:64",
        )
    return _tori(system, system.size, neuronlink_direction, cores)


def ring_instance(system: System, *, neuronlink_direction: str = ONE_WAY, cores: bool = False) -> Topology:
    """inf2.48xlarge: twelve devices in a ring."""
    return _line(system, "ring", connect_ring, neuronlink_direction, cores)


def chain_instance(system: System, *, neuronlink_direction: str = ONE_WAY, cores: bool = False) -> Topology:
    """inf2.24xlarge: six devices in an open chain."""
    return _line(system, "chain", connect_chain, neuronlink_direction, cores)


def _tori(system: System, instances: int, reading: str, cores: bool) -> Topology:
    figures = system.figures
    links = neuronlink_total(figures, reading)
    adapter, efa = efa_classes(figures)
    adapters = figures.count("efa_adapter_count", "its EFA adapters")
    assembly = Assembly(system.name)
    devices = add_devices(assembly, instances, positions(SIDES))
    assembly.declare(neuronlink_class(figures, links, 4), host_class(figures), adapter, efa)
    for group in devices:
        connect_torus(assembly, group, SIDES, "neuronlink")
    server = Server(numa=NUMA, adapters=PAIRS if adapters == len(PAIRS) else SINGLES)
    add_servers(assembly, devices, server, host_cls="host", adapter_cls="adapter", network_cls="efa")
    open_cores(assembly, figures, cores)
    notes = [DIRECTION_REASON[reading]]
    if adapters == len(PAIRS):
        notes.append(ADAPTER_NOTE)
    notes.append(NUMA_NOTE)
    if instances > 1:
        notes.append("the EFA network is one node that blocks nothing, as the documents describe it")
    return assembly.finish(
        ("torus", *SIDES) if instances == 1 else ("torus", *SIDES, "network", instances),
        notes=notes,
        printed_neighbours={"rt-tips": PRINTED},
        budgets=[
            neuronlink_budget(figures, "NeuronLink-v2 per device", ("neuronlink",), links, reading),
            efa_budget(
                figures,
                adapters,
                subject=system.instance.parent or system.instance.name,
                owner="server" if instances > 1 else "system",
            ),
        ],
    )


def _line(
    system: System,
    shape: str,
    connect: Callable[[Assembly, Sequence[int], str], None],
    reading: str,
    cores: bool,
) -> Topology:
    """Two ports per device; the ends of a chain leave one of theirs unused."""
    figures = system.figures
    links = neuronlink_total(figures, reading)
    count = system.devices
    assembly = Assembly(system.name)
    devices = add_devices(assembly, 1, [(i,) for i in range(count)])
    assembly.declare(neuronlink_class(figures, links, 2), host_class(figures))
    connect(assembly, devices[0], "neuronlink")
    add_servers(assembly, devices, Server.plain(count, adapters=False), host_cls="host")
    open_cores(assembly, figures, cores)
    return assembly.finish(
        (shape, count),
        notes=[DIRECTION_REASON[reading], "which device hangs on which NUMA node is not documented"],
        budgets=[neuronlink_budget(figures, "NeuronLink-v2 per device", ("neuronlink",), links, reading)],
    )
