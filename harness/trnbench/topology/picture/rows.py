"""Devices side by side, switches and hosts as bars along them."""

from __future__ import annotations

from trnbench.topology.graph import NodeKind, Topology
from trnbench.topology.picture.canvas import Curve, Place
from trnbench.topology.picture.plan import STEP, Layout, sides_of


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
            edge = y + (11 if there.y > y else -11)
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
