"""What can be said of a topology: counts, degree, diameter, bisection, cycles, symmetry."""

from __future__ import annotations

from collections import Counter

import msgspec

from trnbench.topology.bisection import Bisection, bisection
from trnbench.topology.cycles import Cycle, hamiltonian_cycles
from trnbench.topology.distances import Distances, distances
from trnbench.topology.graph import NodeKind, Topology
from trnbench.topology.isomorphism import hypercube_mapping
from trnbench.topology.routing import Router
from trnbench.topology.soundness import DEVICE_LINKS, components, is_transitive, one_way_links, unrouted

MAPPED_UP_TO = 4096
"""Devices up to which a hypercube is looked for."""


class Properties(msgspec.Struct, frozen=True, kw_only=True):
    """`nodes` by kind and `cables` (both directions are one) by class.

    `degree` counts a device's NeuronLink cables, those to switches included: smallest and largest.
    `hypercube` maps devices to corners where the graph of the devices is a hypercube.
    `connected` says that routes lead both ways between all devices; without that `distances` and
    `bisection` are None. `transitive` says that every device sees the same NeuronLink graph.
    """

    nodes: dict[str, int]
    servers: int
    cables: dict[str, int]
    degree: tuple[int, int]
    connected: bool
    symmetric: bool
    transitive: bool
    distances: Distances | None
    bisection: Bisection | None
    cycles: tuple[Cycle, ...]
    hypercube: tuple[int, ...] | None


def properties(topology: Topology) -> Properties:
    """Everything at once; about half a second for 30,000 devices."""
    kinds = Counter(node.kind for node in topology.nodes)
    ports: Counter[int] = Counter()
    for name, each in topology.classes.items():
        if each.kind in DEVICE_LINKS:
            ports.update(topology.ends[name][0])
    degrees = [ports[device.id] for device in topology.devices]
    router = Router(topology)
    symmetric = not one_way_links(topology)
    whole = symmetric and len(components(topology)) == 1 and not unrouted(topology, router)
    small = len(topology.devices) <= MAPPED_UP_TO and "network" not in topology.shape
    return Properties(
        nodes={kind.value: kinds[kind] for kind in NodeKind if kinds[kind]},
        servers=len({node.host for node in topology.nodes if node.kind == NodeKind.HOST}),
        cables={name: len(topology.ends[name][0]) // 2 for name in topology.classes},
        degree=(min(degrees), max(degrees)),
        connected=whole,
        symmetric=symmetric,
        transitive=is_transitive(topology),
        distances=distances(topology, router) if whole else None,
        bisection=bisection(topology) if whole else None,
        cycles=hamiltonian_cycles(topology),
        hypercube=hypercube_mapping(topology) if small else None,
    )
