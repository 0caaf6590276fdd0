"""Tori: a flat grid, or slanted planes one above the other."""

from __future__ import annotations

from trnbench.topology.graph import NodeKind, Topology
from trnbench.topology.picture.canvas import Place
from trnbench.topology.picture.plan import STEP, Layout, bowed


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
        one, other = topology.nodes[link.src], topology.nodes[link.dst]
        if link.src < link.dst < len(topology.devices) and one.coord[0] != other.coord[0]:
            plan.faint.add((link.src, link.dst))
            if abs(one.coord[0] - other.coord[0]) > 1:
                plan.curves[link.src, link.dst] = bowed(plan.places[link.src], plan.places[link.dst], -0.09)
    for plane in range(planes):
        plan.caption(f"instance {plane}", 12, top + plane * rise + (rows - 1) * dy / 2, "start")
    return plan
