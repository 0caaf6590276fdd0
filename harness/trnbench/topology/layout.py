"""Where the nodes of a picture lie: grids, slanted planes, rows and halves."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import cos, pi, prod, sin

from trnbench.facts.units import show
from trnbench.topology.canvas import Curve, Place
from trnbench.topology.graph import NodeKind, Topology, sides_of

STEP = 96.0
"""Between neighbouring devices of a grid or a row."""

BAR = 22.0
"""Height of a wide node."""


class Layout:
    """Places by node id. Nodes without one are not drawn; `bars` are (left, right) of wide ones."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.places: dict[int, Place] = {}
        self.labels: dict[int, str] = {}
        self.bars: dict[int, tuple[float, float]] = {}
        self.captions: list[tuple[Place, str, str]] = []
        self.sizes: dict[NodeKind, tuple[float, float]] = dict.fromkeys(NodeKind, (44.0, 28.0))
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


def bowed(start: Place, end: Place, share: float) -> Curve:
    """A bow to the right of the way from `start` to `end`, `share` of its length high."""
    middle = start.towards(end)
    across = Place(end.y - start.y, start.x - end.x)
    return Curve(start, Place(middle.x + across.x * 2 * share, middle.y + across.y * 2 * share), end)


def lay_grid(topology: Topology, sides: list[int]) -> Layout:
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
        src, dst = topology.nodes[link.src], topology.nodes[link.dst]
        for axis in axes:
            if abs(src.coord[axis] - dst.coord[axis]) > 1:
                plan.curves[link.src, link.dst] = bowed(
                    plan.places[link.src], plan.places[link.dst], share * _side(src.coord, axis, axes, sides)
                )


def _side(coord: tuple[int, ...], axis: int, axes: range, sides: list[int]) -> int:
    """Bows of the upper rows go up, of the lower ones down; of left columns left, of right ones right.

    A positive bow of a row goes up, that of a column right.
    """
    across = next((candidate for candidate in axes if candidate != axis), axis)
    early = coord[across] < sides[across - len(coord)] / 2
    row = axis == axes[-1]
    return 1 if early == row else -1


def lay_planes(topology: Topology, sides: list[int]) -> Layout:
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
        src, dst = topology.nodes[link.src], topology.nodes[link.dst]
        if link.src < link.dst < len(topology.devices) and src.coord[0] != dst.coord[0]:
            plan.faint.add((link.src, link.dst))
            if abs(src.coord[0] - dst.coord[0]) > 1:
                plan.curves[link.src, link.dst] = bowed(plan.places[link.src], plan.places[link.dst], -0.09)
    for plane in range(planes):
        plan.caption(f"instance {plane}", 12, top + plane * rise + (rows - 1) * dy / 2, "start")
    return plan


def lay_row(topology: Topology) -> Layout:
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
            edge = y + (BAR / 2 if there.y > y else -BAR / 2)
            ends = (there, Place(there.x, edge))
            plan.curves[pair] = Curve.straight(*(ends if link.dst < node else ends[::-1]))


def lay_halves(topology: Topology) -> Layout:
    """Two halves mirrored: switches outside, devices inside, direct links between the two rows."""
    servers, per_server = sides_of(topology)
    half = servers // 2
    pitch = 34.0 if per_server > 8 else 17.0
    gap, margin = 10.0, 30.0
    width = 2 * margin + half * (per_server * pitch + gap)
    near = any(len(topology.out[s.id]) <= per_server for s in topology.of_kind(NodeKind.SWITCH))
    outer, inner = 36.0, 120.0 if near else 96.0
    middle = 80.0
    plan = Layout(width, 2 * inner + middle)
    plan.sizes[NodeKind.DEVICE] = (pitch - 4, 22.0)
    rows = (inner, inner + middle)
    for device in topology.devices:
        server, chip = device.host % half, device.id % per_server
        x = margin + server * (per_server * pitch + gap) + (chip + 0.5) * pitch
        plan.places[device.id] = Place(x, rows[device.host // half])
        plan.labels[device.id] = str(chip)
    for switch in topology.of_kind(NodeKind.SWITCH):
        members = [link.dst for link in topology.out[switch.id]]
        xs = [plan.places[member].x for member in members]
        lower = topology.nodes[members[0]].host >= half
        big = len(members) > per_server
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


LINE = 20.0
GLYPH = 7.4
"""Height of a caption's line, and a generous width of its letters."""

ROUND_UP_TO = 256
"""Nodes that a circle holds; of larger graphs the first."""


def layout(topology: Topology) -> Layout:
    """The layout that suits the shape; a circle for shapes that nobody drew yet."""
    sides = sides_of(topology)
    if _is_torus(topology):
        if "network" in topology.shape:
            plan = lay_cluster(topology)
        else:
            plan = lay_grid(topology, sides) if len(sides) == 2 else lay_planes(topology, sides)
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
    sides = sides_of(topology)
    rows, columns = sides
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
