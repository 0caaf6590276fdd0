"""Devices opened into the ranks that they hold: each reaches memory and links over a link of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from trnbench.facts.fact import Scope
from trnbench.generation import System
from trnbench.topology import Figure, Link, LinkClass, LinkKind, Node, NodeKind, Topology

RANK = "rank"
"""Class of the links between a device and the ranks that it holds."""


def with_endpoints(topology: Topology, system: System, ranks_per_device: int) -> Topology:
    """`topology` of devices with a node per rank, device by device."""
    nodes, links = list(topology.nodes), list(topology.links)
    for device in topology.devices:
        for c in range(ranks_per_device):
            node = Node(len(nodes), f"{device.name}.r{c}", NodeKind.CORE, (*device.coord, c), device.host)
            nodes.append(node)
            links += [Link(node.id, device.id, RANK), Link(device.id, node.id, RANK)]
    classes = {**topology.classes, RANK: _rank_class(system, ranks_per_device)}
    return msgspec.structs.replace(topology, nodes=tuple(nodes), links=tuple(links), classes=classes)


def _rank_class(system: System, ranks_per_device: int) -> LinkClass:
    """A rank reaches memory and links at the rate of its cores' DMA engines."""
    dma: Mapping[str, Any] = system.costs.get("dma", {})
    cores = max(system.cores_per_device // ranks_per_device, 1)
    rate = float(dma.get("bytes_per_ns_per_engine", 0.0)) * float(dma.get("engines_per_core", 0)) * 1e9
    origin = "[dma] of the cost table"
    if not rate:
        rate = (system.fact(Scope.DEVICE, "dma_bandwidth") or float("inf")) / system.cores_per_device
        origin = "dma_bandwidth"
    latency = system.book.assumptions.get("on-chip-latency")
    return LinkClass(
        name=RANK,
        kind=LinkKind.ON_CHIP,
        bandwidth=Figure(value=rate * cores, origin=origin, formula=f"{cores} cores' DMA engines"),
        latency=Figure(
            value=latency.value / 2 if latency else 0.0,
            origin="on-chip-latency",
            formula="half, twice per message",
            assumed=True,
        ),
    )
