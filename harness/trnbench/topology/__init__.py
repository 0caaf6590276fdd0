"""Graphs of machines: nodes, directed links, and what joins them.

What a plugin's topology is made with is importable from here; nothing is imported until it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trnbench.topology.builders.assembly import Assembly
    from trnbench.topology.builders.hierarchy import Server, add_cores, add_devices, add_servers
    from trnbench.topology.builders.hypercube import connect_hypercube
    from trnbench.topology.builders.lattice import positions
    from trnbench.topology.builders.ring import connect_chain, connect_ring
    from trnbench.topology.builders.switch import connect_switch
    from trnbench.topology.builders.torus import connect_torus
    from trnbench.topology.classes import (
        core_class,
        efa_budget,
        efa_classes,
        host_class,
        neuronlink_budget,
        neuronlink_class,
        neuronlink_total,
        switch_class,
    )
    from trnbench.topology.figures import (
        DIRECTION_REASON,
        ONE_WAY,
        Figures,
        check_direction,
        in_one_direction,
        of_fact,
        per_direction,
        scaled,
        total,
    )
    from trnbench.topology.graph import Budget, Figure, Link, LinkClass, LinkKind, Node, NodeKind, Topology

_HOMES = {
    "builders.assembly": ("Assembly",),
    "builders.hierarchy": (
        "Server",
        "add_cores",
        "add_devices",
        "add_servers",
    ),
    "builders.hypercube": ("connect_hypercube",),
    "builders.lattice": ("positions",),
    "builders.ring": (
        "connect_chain",
        "connect_ring",
    ),
    "builders.switch": ("connect_switch",),
    "builders.torus": ("connect_torus",),
    "classes": (
        "core_class",
        "efa_budget",
        "efa_classes",
        "host_class",
        "neuronlink_budget",
        "neuronlink_class",
        "neuronlink_total",
        "switch_class",
    ),
    "figures": (
        "DIRECTION_REASON",
        "ONE_WAY",
        "Figures",
        "check_direction",
        "in_one_direction",
        "of_fact",
        "per_direction",
        "scaled",
        "total",
    ),
    "graph": (
        "Budget",
        "Figure",
        "Link",
        "LinkClass",
        "LinkKind",
        "Node",
        "NodeKind",
        "Topology",
    ),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

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
    "efa_budget",
    "efa_classes",
    "host_class",
    "in_one_direction",
    "neuronlink_budget",
    "neuronlink_class",
    "neuronlink_total",
    "of_fact",
    "per_direction",
    "positions",
    "scaled",
    "switch_class",
    "total",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'trnbench.topology' has no attribute {name!r}")
    return getattr(import_module(f"trnbench.topology.{home}"), name)
