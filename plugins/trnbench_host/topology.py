"""The host as a graph: one node, whatever its number of sockets; or one node for each of its ranks."""

from __future__ import annotations

from trnbench import Figure, Link, LinkClass, LinkKind, Node, NodeKind, System, Topology


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


def ranks(system: System) -> Topology:
    """Each rank a node, each reached by each through the memory of the machine."""
    count = system.devices
    book = system.book.assumptions
    bandwidth, latency = (
        Figure(
            value=book[name].value,
            origin=name,
            formula=f"{book[name].printed} {book[name].printed_unit}",
            assumed=True,
            low=book[name].low,
            high=book[name].high,
        )
        for name in ("rank-bandwidth", "rank-latency")
    )
    return Topology(
        name=system.name,
        nodes=tuple(Node(rank, f"rank{rank}", NodeKind.DEVICE) for rank in range(count)),
        links=tuple(Link(src, dst, "memory") for src in range(count) for dst in range(count) if src != dst),
        classes={
            "memory": LinkClass(name="memory", kind=LinkKind.ON_CHIP, bandwidth=bandwidth, latency=latency)
        },
        shape=("complete", count),
        notes=("processes that hand data over through the memory of one machine: its figures are assumed",),
    )
