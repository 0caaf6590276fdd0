"""Where the nodes of a picture lie: grids for tori, rows between bars for switches, circles for rings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from math import cos, pi, sin

from trnbench.facts.format import show
from trnbench.topology.canvas import Curve, Place
from trnbench.topology.graph import NodeKind, Topology

STEP = 96.0
"""Between neighbouring devices of a grid."""

TILES = 8
"""Instances of a cluster that are drawn; the rest is counted."""

ROUND_UP_TO = 256
"""Nodes of an unknown shape that are drawn on a circle; of larger ones the first."""


class Layout:
    """Places by node id. Nodes without one are not drawn; `bars` are (left, right) of wide ones."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.places: dict[int, Place] = {}
        self.labels: dict[int, str] = {}
        self.bars: dict[int, tuple[float, float]] = {}
        self.captions: list[tuple[Place, str, str]] = []
        self.sizes: dict[NodeKind, tuple[float, float]] = dict.fromkeys(NodeKind, (44.0, 28.0))
        self.sizes[NodeKind.NETWORK] = (120.0, 22.0)
        self.curves: dict[tuple[int, int], Curve] = {}
        self.faint: set[tuple[int, int]] = set()

    def curve(self, one: int, other: int) -> Curve:
        """How the cable between two drawn nodes runs."""
        return self.curves.get((one, other)) or Curve.straight(self.places[one], self.places[other])

    def trim(self, node: int, kind: NodeKind) -> tuple[float, float]:
        """The box that a cable ends at; curves to bars end at their edge already."""
        return (0.0, 0.0) if node in self.bars else self.sizes[kind]

    def fade(self, one: int, other: int) -> float:
        return 0.45 if (one, other) in self.faint else 1.0

    def caption(self, text: str, x: float, y: float, anchor: str = "middle") -> None:
        self.captions.append((Place(x, y), text, anchor))


def layout(topology: Topology) -> Layout:
    """The layout that suits the shape; a circle for shapes that nobody drew yet."""
    shape = topology.shape
    kind = shape[0] if shape else ""
    ways: dict[object, Callable[[Topology], Layout]] = {
        "torus": _cluster if "network" in shape else _torus,
        "ring": _circle,
        "chain": _row,
        "single": _row,
        "switched": _halves,
    }
    plan = ways.get(kind, _circle)(topology)
    _legend(topology, plan)
    return plan


def _legend(topology: Topology, plan: Layout) -> None:
    """What the drawn cables carry, and what is not drawn."""
    drawn = dict.fromkeys(
        link.cls for link in topology.links if link.src in plan.places and link.dst in plan.places
    )
    carried = [f"{name} {show(topology.classes[name].bandwidth.value, 'B/s')}" for name in drawn]
    missing = Counter(node.kind.value for node in topology.nodes if node.id not in plan.places)
    plan.height += 44
    if carried:
        text = " · ".join(carried) + ", per cable and direction"
        plan.caption(text, plan.width / 2, plan.height - 34)
    if missing:
        text = ", ".join(
            f"{count:,} {kind}{'' if count == 1 else 'es' if kind == 'switch' else 's'}"
            for kind, count in missing.items()
        )
        plan.caption(f"not drawn: {text}", plan.width / 2, plan.height - 14)


def _torus(topology: Topology) -> Layout:
    sides = [part for part in topology.shape[1:] if isinstance(part, int)]
    if len(sides) == 2:
        return _grid(topology, sides)
    if len(sides) == 3:
        return _planes(topology, sides)
    return _circle(topology)


def _grid(topology: Topology, sides: list[int]) -> Layout:
    """Rows and columns; cables that wrap around run as arcs beside the grid's own lines."""
    rows, columns = sides
    margin = 74.0
    plan = Layout(2 * margin + (columns - 1) * STEP, 2 * margin + (rows - 1) * STEP)
    for device in topology.devices:
        row, column = device.coord
        plan.places[device.id] = Place(margin + column * STEP, margin + row * STEP)
    bend_wraps(topology, plan, range(2), sides)
    return plan


def bend_wraps(topology: Topology, plan: Layout, axes: range, sides: list[int], share: float = 0.22) -> None:
    """Bows every cable that joins the two ends of a row or column of more than two."""
    for link in topology.links:
        if link.src > link.dst or link.src not in plan.places or link.dst not in plan.places:
            continue
        one, other = topology.nodes[link.src], topology.nodes[link.dst]
        if one.kind != NodeKind.DEVICE or other.kind != NodeKind.DEVICE:
            continue
        for axis in axes:
            if abs(one.coord[axis] - other.coord[axis]) > 1:
                plan.curves[link.src, link.dst] = bowed(
                    plan.places[link.src], plan.places[link.dst], share * _side(one.coord, axis, axes, sides)
                )


def _side(coord: tuple[int, ...], axis: int, axes: range, sides: list[int]) -> int:
    """Bows of the upper rows go up, of the lower ones down; of left columns left, of right ones right.

    A positive bow of a row goes up, that of a column right.
    """
    across = next((other for other in axes if other != axis), axis)
    early = coord[across] < sides[across - len(coord)] / 2
    row = axis == axes[-1]
    return 1 if early == row else -1


def bowed(start: Place, end: Place, share: float = 0.22) -> Curve:
    """A bow to the right of the way from `start` to `end`, `share` of its length high."""
    middle = start.towards(end)
    across = Place(end.y - start.y, start.x - end.x)
    return Curve(start, Place(middle.x + across.x * 2 * share, middle.y + across.y * 2 * share), end)


def _planes(topology: Topology, sides: list[int]) -> Layout:
    """Slanted planes one above the other, so that the rings through the planes are upright lines."""
    planes, rows, columns = sides
    dx, slant, dy, rise = 104.0, 30.0, 34.0, 190.0
    left, top = 110.0, 60.0
    width = left + (columns - 1) * dx + (rows - 1) * slant + 150
    plan = Layout(width, top + (planes - 1) * rise + (rows - 1) * dy + 50)
    plan.sizes[NodeKind.DEVICE] = (38.0, 20.0)
    for device in topology.devices:
        plane, row, column = device.coord
        plan.places[device.id] = Place(
            left + column * dx + (rows - 1 - row) * slant, top + plane * rise + row * dy
        )
        plan.labels[device.id] = f"d{row * columns + column}"
    bend_wraps(topology, plan, range(1, 3), sides, 0.11)
    for link in topology.links:
        one, other = topology.nodes[link.src], topology.nodes[link.dst]
        if link.src < link.dst < len(topology.devices) and one.coord[0] != other.coord[0]:
            plan.faint.add((link.src, link.dst))
            if abs(one.coord[0] - other.coord[0]) > 1:
                plan.curves[link.src, link.dst] = bowed(plan.places[link.src], plan.places[link.dst], -0.09)
    for plane in range(planes):
        plan.caption(f"instance {plane}", 12, top + plane * rise + (rows - 1) * dy / 2, "start")
    return plan


def _circle(topology: Topology) -> Layout:
    nodes = [n for n in topology.nodes if n.kind in (NodeKind.DEVICE, NodeKind.SWITCH)][:ROUND_UP_TO]
    radius = max(120.0, len(nodes) * 56 / (2 * pi))
    size = 2 * (radius + 50)
    plan = Layout(max(size, 420), size)
    for position, node in enumerate(nodes):
        angle = 2 * pi * position / len(nodes) - pi / 2
        plan.places[node.id] = Place(plan.width / 2 + radius * cos(angle), size / 2 + radius * sin(angle))
    return plan


def _row(topology: Topology) -> Layout:
    """Devices side by side, their host as a bar below."""
    devices = topology.devices
    plan = Layout(max(2 * 60 + (len(devices) - 1) * STEP, 320), 150)
    first = (plan.width - (len(devices) - 1) * STEP) / 2
    for device in devices:
        plan.places[device.id] = Place(first + device.id * STEP, 50)
    hosts = topology.of_kind(NodeKind.HOST)
    if len(hosts) == 1:
        _bar(topology, plan, hosts[0].id, first - 30, first + (len(devices) - 1) * STEP + 30, 120)
    return plan


def _bar(topology: Topology, plan: Layout, node: int, left: float, right: float, y: float) -> None:
    """A wide node; cables from above or below end straight on it."""
    plan.places[node] = Place((left + right) / 2, y)
    plan.bars[node] = (left, right)
    for link in topology.out[node]:
        there = plan.places.get(link.dst)
        if there is not None and left <= there.x <= right:
            pair = (min(node, link.dst), max(node, link.dst))
            edge = y + (11 if there.y > y else -11)
            ends = (there, Place(there.x, edge))
            plan.curves[pair] = Curve.straight(*(ends if link.dst < node else ends[::-1]))


def _halves(topology: Topology) -> Layout:
    """Two halves mirrored: switches outside, devices inside, direct links between the two rows."""
    servers, each = (part for part in topology.shape[1:3] if isinstance(part, int))
    half = servers // 2
    pitch = 34.0 if each > 8 else 17.0
    gap, margin = 10.0, 30.0
    width = 2 * margin + half * (each * pitch + gap)
    near = any(len(topology.out[s.id]) <= each for s in topology.of_kind(NodeKind.SWITCH))
    outer, inner = 36.0, 120.0 if near else 96.0
    middle = 80.0
    plan = Layout(width, 2 * inner + middle)
    plan.sizes[NodeKind.DEVICE] = (pitch - 4, 22.0)
    rows = (inner, inner + middle)
    for device in topology.devices:
        server, chip = device.host % half, device.id % each
        x = margin + server * (each * pitch + gap) + (chip + 0.5) * pitch
        plan.places[device.id] = Place(x, rows[device.host // half])
        plan.labels[device.id] = str(chip)
    for switch in topology.of_kind(NodeKind.SWITCH):
        members = [link.dst for link in topology.out[switch.id]]
        xs = [plan.places[member].x for member in members]
        lower = topology.nodes[members[0]].host >= half
        big = len(members) > each
        distance = inner - outer if big else 40.0
        y = rows[1] + distance if lower else rows[0] - distance
        _bar(topology, plan, switch.id, min(xs) - pitch / 2, max(xs) + pitch / 2, y)
        if near and big:
            # Beside the cable to the server's own switch, so that both are seen.
            for member in members:
                curve = plan.curves[member, switch.id]
                moved = [Place(p.x + pitch / 5, p.y) for p in (curve.start, curve.end)]
                plan.curves[member, switch.id] = Curve.straight(moved[0], moved[1])
                plan.faint.add((member, switch.id))
        if not big:
            plan.labels[switch.id] = switch.name.split(".")[0]
    return plan


def _cluster(topology: Topology) -> Layout:
    """The first instances as small tori over the network's bar, and how many there are in all."""
    sides = [part for part in topology.shape[1 : topology.shape.index("network")] if isinstance(part, int)]
    instances = int(topology.shape[-1])
    drawn = min(instances, TILES)
    rows, columns = (sides[0], sides[1]) if len(sides) == 2 else (1, len(topology.devices) // instances)
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
    if len(sides) == 2:
        bend_wraps(topology, plan, range(1, 3), sides)
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
