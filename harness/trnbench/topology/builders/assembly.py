"""A topology while it is being put together."""

from __future__ import annotations

from collections.abc import Sequence
from operator import eq

from trnbench.errors import TopologyError
from trnbench.topology.graph import Budget, Link, LinkClass, Node, NodeKind, Topology


class Assembly:
    """Collects nodes, links and classes; `finish` checks them and makes the `Topology`.

    Devices are added first, so that the id of a device is its rank. Links leave a node in the order
    in which they were added, which is the order neighbours are printed in.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.nodes: list[Node] = []
        self.links: list[Link] = []
        self.classes: dict[str, LinkClass] = {}

    def add(self, name: str, kind: NodeKind, coord: tuple[int, ...] = (), host: int = 0) -> int:
        """Adds a node and returns its id."""
        self.nodes.append(Node(len(self.nodes), name, kind, coord, host))
        return len(self.nodes) - 1

    def declare(self, *classes: LinkClass) -> None:
        self.classes.update((each.name, each) for each in classes)

    def send(self, src: int, dst: int, cls: str) -> None:
        """Adds one direction of a cable."""
        self.links.append(Link(src, dst, cls))

    def join(self, one: int, other: int, cls: str) -> None:
        """Adds a cable: both directions."""
        self.links.append(Link(one, other, cls))
        self.links.append(Link(other, one, cls))

    def finish(
        self,
        shape: tuple[str | int, ...],
        *,
        notes: Sequence[str] = (),
        budgets: Sequence[Budget] = (),
        printed_neighbours: dict[str, tuple[tuple[int, ...], ...]] | None = None,
    ) -> Topology:
        """The topology. Raises `TopologyError` when the parts do not fit together."""
        self._check()
        return Topology(
            name=self.name,
            nodes=tuple(self.nodes),
            links=tuple(self.links),
            classes=dict(self.classes),
            shape=shape,
            notes=tuple(notes),
            budgets=tuple(budgets),
            printed_neighbours=printed_neighbours or {},
        )

    def _check(self) -> None:
        seen: set[str] = set()
        devices_ended = False
        for node in self.nodes:
            if node.name in seen:
                raise self._error(f"two nodes are called {node.name!r}", "give every node a name of its own")
            seen.add(node.name)
            if node.kind != NodeKind.DEVICE:
                devices_ended = True
            elif devices_ended:
                raise self._error(
                    f"device {node.name!r} was added after other nodes",
                    "add all devices first: the id of a device is its rank",
                )
        if not self.nodes or self.nodes[0].kind != NodeKind.DEVICE:
            raise self._error("no device was added", "a topology has at least one device")
        self._check_links()

    def _check_links(self) -> None:
        """The parts of many links are looked at together: a cluster has a quarter of a million."""
        count = len(self.nodes)
        src, dst = [link.src for link in self.links], [link.dst for link in self.links]
        inside = not src or (min(min(src), min(dst)) >= 0 and max(max(src), max(dst)) < count)
        if inside and not any(map(eq, src, dst)) and self.classes.keys() >= {link.cls for link in self.links}:
            return
        for link in self.links:
            if not (0 <= link.src < count and 0 <= link.dst < count):
                raise self._error(
                    f"a link joins node {link.src} to node {link.dst}, there are {count} nodes",
                    "use the ids that `add` returned",
                )
            if link.src == link.dst:
                raise self._error(
                    f"a link joins {self.nodes[link.src].name!r} to itself", "leave out dimensions of size 1"
                )
            if link.cls not in self.classes:
                raise self._error(f"link class {link.cls!r} was never declared", "declare it before `finish`")

    def _error(self, what: str, try_: str) -> TopologyError:
        return TopologyError(f"{self.name}: {what}", cause="a mistake in the topology builder", try_=try_)
