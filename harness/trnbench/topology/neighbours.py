"""Who is joined to whom by a direct link."""

from __future__ import annotations

from trnbench.topology.graph import LinkKind, Topology


def neighbour_table(topology: Topology) -> list[list[int]]:
    """For every device the devices its direct links lead to, in the order of the links."""
    count = len(topology.devices)
    return [
        [
            link.dst
            for link in topology.out[device.id]
            if link.dst < count and topology.classes[link.cls].kind is LinkKind.NEURONLINK
        ]
        for device in topology.devices
    ]
