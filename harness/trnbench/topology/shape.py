"""What a topology's shape says, in words and in numbers, and whether the graph bears it out."""

from __future__ import annotations

from trnbench.topology.graph import Topology


def torus_sides(topology: Topology) -> tuple[int, ...] | None:
    """The sides when every island is a whole torus (or ring), else None.

    `shape` claims it; a cable more or less than such a torus has (a broken link taken out) denies it.
    """
    shape = topology.shape
    if not shape or shape[0] not in ("torus", "ring"):
        return None
    sides: list[int] = []
    for part in shape[1:]:
        if isinstance(part, str):
            break
        sides.append(part)
    if not sides or min(sides) < 1 or any(len(d.coord) < len(sides) for d in topology.devices):
        return None
    levels = {name for name, each in topology.classes.items() if each.level == 0}
    count = len(topology.devices)
    links = sum(sum(map(count.__gt__, map(max, *topology.ends[name]))) for name in levels)
    expected = count * sum(2 if side > 2 else side - 1 for side in sides)
    return tuple(sides) if links == expected else None


def shape_words(topology: Topology) -> str:
    """The shape for people: "torus 4 × 4", "switched, 36 servers of 4", "ring of 12"."""
    shape = topology.shape
    kind, sizes = (str(shape[0]), []) if shape else ("graph", [])
    rest = ""
    for position, part in enumerate(shape[1:], 1):
        if isinstance(part, str):
            count = shape[position + 1] if len(shape) > position + 1 else 1
            rest = f", {count:,} of them on one {part}" if isinstance(count, int) else f", {part}"
            break
        sizes.append(part)
    if kind == "torus":
        return "torus " + " × ".join(map(str, sizes)) + rest
    if kind in ("ring", "chain") and sizes:
        return f"{kind} of {sizes[0]}{rest}"
    if kind == "switched" and len(sizes) > 1:
        return f"switched, {sizes[0]} servers of {sizes[1]}{rest}"
    if kind == "single":
        return "a single device" + rest
    return kind + (" " + " × ".join(map(str, sizes)) if sizes else "") + rest
