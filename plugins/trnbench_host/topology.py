"""The host as a graph: one node, whatever its number of sockets."""

from __future__ import annotations

from trnbench import Node, NodeKind, System, Topology


def host(system: System) -> Topology:
    """All processors are one device here: no document gives the links between sockets a figure."""
    return Topology(
        name=system.name,
        nodes=(Node(0, "cpu", NodeKind.DEVICE),),
        links=(),
        classes={},
        shape=("single", 1),
        notes=("the processors of one machine, taken as one device: nothing to link it to",),
    )
