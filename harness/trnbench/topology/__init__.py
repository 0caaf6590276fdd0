"""Graphs of machines: nodes, directed links, and what joins them.

What a plugin's topology is made with is importable from here; nothing is imported until it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trnbench.topology.builder import (
        Assembly,
        Server,
        add_cores,
        add_devices,
        add_servers,
        connect_chain,
        connect_hypercube,
        connect_ring,
        connect_switch,
        connect_torus,
        lone_device,
        open_cores,
        positions,
    )
    from trnbench.topology.cycles import hamiltonian_cycles, torus_cycles
    from trnbench.topology.figures import (
        DIRECTION_REASON,
        ONE_WAY,
        Figures,
        check_direction,
        core_class,
        efa_budget,
        efa_classes,
        host_class,
        in_one_direction,
        neuronlink_budget,
        neuronlink_class,
        neuronlink_total,
        of_fact,
        per_direction,
        scaled,
        switch_class,
        total,
    )
    from trnbench.topology.graph import Budget, Figure, Link, LinkClass, LinkKind, Node, NodeKind, Topology
    from trnbench.topology.isomorphism import device_adjacency

_HOMES = {
    "builder": (
        "Assembly Server add_cores add_devices add_servers connect_chain connect_hypercube connect_ring "
        "connect_switch connect_torus lone_device open_cores positions"
    ),
    "cycles": "hamiltonian_cycles torus_cycles",
    "figures": (
        "DIRECTION_REASON ONE_WAY Figures check_direction core_class efa_budget efa_classes host_class "
        "in_one_direction neuronlink_budget neuronlink_class neuronlink_total of_fact per_direction scaled "
        "switch_class total"
    ),
    "graph": "Budget Figure Link LinkClass LinkKind Node NodeKind Topology",
    "isomorphism": "device_adjacency",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = [
    "DIRECTION_REASON",
    "ONE_WAY",
    "Assembly",
    "Budget",
    "Figure",
    "Figures",
    "Link",
    "LinkClass",
    "LinkKind",
    "Node",
    "NodeKind",
    "Server",
    "Topology",
    "add_cores",
    "add_devices",
    "add_servers",
    "check_direction",
    "connect_chain",
    "connect_hypercube",
    "connect_ring",
    "connect_switch",
    "connect_torus",
    "core_class",
    "device_adjacency",
    "efa_budget",
    "efa_classes",
    "hamiltonian_cycles",
    "host_class",
    "in_one_direction",
    "lone_device",
    "neuronlink_budget",
    "neuronlink_class",
    "neuronlink_total",
    "of_fact",
    "open_cores",
    "per_direction",
    "positions",
    "scaled",
    "switch_class",
    "torus_cycles",
    "total",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'trnbench.topology' has no attribute {name!r}")
    return getattr(import_module(f"trnbench.topology.{home}"), name)
