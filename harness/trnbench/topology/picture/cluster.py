"""A cluster: its first instances over the bar of the network."""

from __future__ import annotations

from trnbench.topology.graph import NodeKind, Topology
from trnbench.topology.picture.canvas import Curve, Place
from trnbench.topology.picture.grid import bend_wraps
from trnbench.topology.picture.plan import Layout, sides_of

TILES = 8
"""Instances that are drawn; the rest is counted."""


def lay_cluster(topology: Topology) -> Layout:
    """The first instances as small tori over the network's bar, and how many there are in all."""
    rows, columns = sides_of(topology)
    sides = [rows, columns]
    instances = len({device.host for device in topology.devices})
    drawn = min(instances, TILES)
    step = 26.0
    tile = columns * step + 34
    more = 150.0 if instances > drawn else 0.0
    plan = Layout(max(drawn * tile + 40 + more, 420), rows * step + 150)
    plan.sizes[NodeKind.DEVICE] = (14.0, 14.0)
    for device in topology.devices:
        if device.host >= drawn:
            break
        at = device.id % (rows * columns)
        x = 36 + device.host * tile + at % columns * step
        plan.places[device.id] = Place(x, 56 + at // columns * step)
    axes = len(topology.devices[0].coord)
    bend_wraps(topology, plan, range(axes - 2, axes), sides)
    bottom = 56 + rows * step
    network = topology.of_kind(NodeKind.NETWORK)[0]
    plan.places[network.id] = Place(plan.width / 2, bottom + 66)
    plan.bars[network.id] = (20, plan.width - 20)
    plan.labels[network.id] = "EFA network, blocks nothing"
    adapters = [node for node in topology.of_kind(NodeKind.ADAPTER) if node.host < drawn]
    per_tile = max(1, len(adapters) // drawn)
    plan.sizes[NodeKind.ADAPTER] = (8.0, 8.0)
    for position, adapter in enumerate(adapters):
        spread = (columns - 1) * step / max(per_tile - 1, 1)
        x = 36 + adapter.host * tile + position % per_tile * spread
        plan.places[adapter.id] = Place(x, bottom + 14)
        plan.curves[adapter.id, network.id] = Curve.straight(Place(x, bottom + 14), Place(x, bottom + 55))
    for link in topology.links:
        if link.src in plan.places and link.dst in plan.places and link.cls == "adapter":
            plan.faint.add((min(link.src, link.dst), max(link.src, link.dst)))
    for tile_number in range(drawn):
        plan.caption(f"s{tile_number}", 36 + tile_number * tile + (columns - 1) * step / 2, 22)
    if instances > drawn:
        plan.caption(f"… {instances:,} instances", plan.width - more / 2 - 10, 56 + rows * step / 2)
    return plan
