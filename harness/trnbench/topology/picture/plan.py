"""Where the nodes of one picture lie and how its cables run."""

from __future__ import annotations

from itertools import takewhile

from trnbench.topology.graph import NodeKind, Topology
from trnbench.topology.picture.canvas import Curve, Place

STEP = 96.0
"""Between neighbouring devices of a grid or a row."""


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


def sides_of(topology: Topology) -> list[int]:
    """The numbers of the shape up to the next word."""
    numbers = takewhile(lambda part: isinstance(part, int), topology.shape[1:])
    return [part for part in numbers if isinstance(part, int)]


def bowed(start: Place, end: Place, share: float = 0.22) -> Curve:
    """A bow to the right of the way from `start` to `end`, `share` of its length high."""
    middle = start.towards(end)
    across = Place(end.y - start.y, start.x - end.x)
    return Curve(start, Place(middle.x + across.x * 2 * share, middle.y + across.y * 2 * share), end)
