"""Names that documents give a graph, proven or refuted: "4D-HyperCube", "2D Torus", "ring of 12"."""

from __future__ import annotations

import re

from trnbench.topology.graph import Topology
from trnbench.topology.neighbours import neighbour_table
from trnbench.topology.properties import Properties
from trnbench.topology.shape import torus_sides

_HYPERCUBE = re.compile(r"(\d+)D[- ]?hyper-?cube", re.IGNORECASE)
_TORUS = re.compile(r"(?:(\d+(?:x\d+)+),? ?)?(\d+)D torus", re.IGNORECASE)
_LINE = re.compile(r"(ring|chain) of (\d+)", re.IGNORECASE)


def claim(topology: Topology, found: Properties, words: str) -> tuple[bool | None, str]:
    """(true or false, the proof); None where no rule tests the words."""
    if match := _HYPERCUBE.search(words):
        if "network" in topology.shape:
            return None, "said of one instance, not of the cluster"
        bits = int(match[1])
        good = found.hypercube is not None and len(found.hypercube) == 1 << bits
        return good, f"a map onto the {bits}D hypercube keeps every link" if good else "no such map exists"
    sides = torus_sides(topology)
    if match := _TORUS.search(words):
        wanted = tuple(map(int, match[1].split("x"))) if match[1] else None
        kind = f"a torus of {' × '.join(map(str, sides))}" if sides else "no torus"
        good = sides is not None and len(sides) == int(match[2]) and wanted in (None, sides)
        return good, f"the graph is {kind}"
    if match := _LINE.search(words):
        good = topology.shape == (match[1].lower(), int(match[2]))
        return good, f"the graph is a {' of '.join(map(str, topology.shape))}"
    if words.lower() == "ring" and sides is not None:
        count = len(topology.devices) // sides[0]
        good = _rings_between(topology) == (count, sides[0])
        return good, f"devices of one index in {sides[0]} instances form {count} rings"
    if words.lower() == "all-to-all" and found.distances is not None:
        good = topology.shape[:1] == ("switched",)
        return (
            good,
            f"over switches, at most {found.distances.diameter} links apart; not a link for every pair",
        )
    return None, "no rule tests this name"


def _rings_between(topology: Topology) -> tuple[int, int]:
    """(number, length) of the rings made of links between servers; (0, 0) unless all are alike."""
    devices = topology.devices
    outward = [
        [n for n in neighbours if devices[n].host != device.host]
        for device, neighbours in zip(devices, neighbour_table(topology), strict=True)
    ]
    if any(len(each) != 2 for each in outward):
        return 0, 0
    seen: set[int] = set()
    lengths = []
    for start in range(len(devices)):
        if start in seen:
            continue
        ring, stack = {start}, [start]
        while stack:
            fresh = [n for n in outward[stack.pop()] if n not in ring]
            ring.update(fresh)
            stack += fresh
        seen |= ring
        lengths.append(len(ring))
    return (len(lengths), lengths[0]) if len(set(lengths)) == 1 else (0, 0)
