"""The layout that suits a shape, if the graph bears the shape out; a circle for everything else."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import cos, pi, prod, sin

from trnbench.facts.format import show
from trnbench.topology.graph import NodeKind, Topology
from trnbench.topology.picture.canvas import Curve, Place
from trnbench.topology.picture.grid import bend_wraps, lay_grid, lay_planes
from trnbench.topology.picture.plan import Layout, sides_of
from trnbench.topology.picture.rows import lay_halves, lay_row

LINE = 20.0
GLYPH = 7.4
"""Height of a caption's line, and a generous width of its letters."""

ROUND_UP_TO = 256
"""Nodes that a circle holds; of larger graphs the first."""


def layout(topology: Topology) -> Layout:
    """The layout that suits the shape; a circle for shapes that nobody drew yet."""
    if _is_torus(topology):
        plan = lay_cluster(topology) if "network" in topology.shape else _torus(topology)
    elif _is_switched(topology):
        plan = lay_halves(topology)
    elif len(topology.devices) == 1 or topology.shape[:1] == ("chain",):
        plan = lay_row(topology)
    else:
        plan = _circle(topology)
    _legend(topology, plan)
    return plan


def _is_torus(topology: Topology) -> bool:
    """Two or three sides that the coordinates of the devices fill, in every instance of a cluster."""
    sides, instances = sides_of(topology), 1
    if topology.shape[:1] != ("torus",) or len(sides) not in (2, 3):
        return False
    if "network" in topology.shape:
        instances = len({device.host for device in topology.devices})
        if len(sides) != 2 or len(topology.of_kind(NodeKind.NETWORK)) != 1:
            return False
    places = {device.coord[-len(sides) :] for device in topology.devices}
    return places == set(product(*map(range, sides))) and len(topology.devices) == prod(sides) * instances


def _is_switched(topology: Topology) -> bool:
    """An even number of servers, and switches that join devices of one half only."""
    sizes = sides_of(topology)
    if topology.shape[:1] != ("switched",) or len(sizes) != 2 or sizes[0] % 2 or min(sizes) < 1:
        return False
    servers, each = sizes
    if [device.host for device in topology.devices] != [d // each for d in range(servers * each)]:
        return False
    for switch in topology.of_kind(NodeKind.SWITCH):
        members = [topology.nodes[link.dst] for link in topology.out[switch.id]]
        halves = {node.host // (servers // 2) for node in members if node.kind == NodeKind.DEVICE}
        if len(halves) != 1 or any(node.kind != NodeKind.DEVICE for node in members):
            return False
    return True


def _legend(topology: Topology, plan: Layout) -> None:
    """What the drawn cables carry, and what is not drawn; as many lines as the width needs."""
    drawn = dict.fromkeys(
        link.cls for link in topology.links if link.src in plan.places and link.dst in plan.places
    )
    carried = [f"{name} {show(topology.classes[name].bandwidth.value, 'B/s')}" for name in drawn]
    missing = Counter(node.kind.value for node in topology.nodes if node.id not in plan.places)
    absent = [
        f"{count:,} {kind}{'' if count == 1 else 'es' if kind == 'switch' else 's'}"
        for kind, count in missing.items()
    ]
    lines = []
    if carried:
        lines += _wrapped([*carried, "per cable and direction"], " · ", plan.width)
    if absent:
        lines += _wrapped(["not drawn: " + absent[0], *absent[1:]], ", ", plan.width)
    for line in lines:
        plan.height += LINE
        plan.caption(line, plan.width / 2, plan.height - LINE / 2)
    plan.height += 4


def _wrapped(parts: list[str], between: str, width: float) -> list[str]:
    """The parts joined into lines of at most `width`."""
    lines = [parts[0]]
    for part in parts[1:]:
        longer = lines[-1] + between + part
        if len(longer) * GLYPH <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


def _torus(topology: Topology) -> Layout:
    sides = sides_of(topology)
    return lay_grid(topology, sides) if len(sides) == 2 else lay_planes(topology, sides)


def _circle(topology: Topology) -> Layout:
    nodes = [n for n in topology.nodes if n.kind in (NodeKind.DEVICE, NodeKind.SWITCH)][:ROUND_UP_TO]
    radius = max(120.0, len(nodes) * 56 / (2 * pi))
    size = 2 * (radius + 50)
    plan = Layout(max(size, 420), size)
    for position, node in enumerate(nodes):
        angle = 2 * pi * position / len(nodes) - pi / 2
        plan.places[node.id] = Place(plan.width / 2 + radius * cos(angle), size / 2 + radius * sin(angle))
    return plan


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
