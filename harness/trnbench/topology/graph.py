"""Graphs of machines: nodes and directed links, with bandwidth and latency; their shape; the same as JSON."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from enum import Enum
from functools import cached_property

import msgspec

from trnbench.errors import BadInput, brief, counted
from trnbench.record import Record


class NodeKind(str, Enum):
    CORE = "core"
    DEVICE = "device"
    SWITCH = "switch"
    HOST = "host"
    ADAPTER = "adapter"  # an EFA network adapter
    NETWORK = "network"  # the non-blocking cluster fabric, one node


class Node(Record, gc=False):
    """`id` is the index in `Topology.nodes`; `name` is unique ("d5", "host0", "efa3", "sw-a").

    Devices come first, so the id of a device is its rank. `coord` is the position in the torus or
    (rack, server, chip), for a host (server, NUMA node). `host` is the index of its server: the
    machine with an operating system of its own, which may have several NUMA nodes.
    """

    id: int
    name: str
    kind: NodeKind
    coord: tuple[int, ...] = ()
    host: int = 0


class LinkKind(str, Enum):
    NEURONLINK = "neuronlink"
    SWITCH = "neuronswitch"
    PCIE = "pcie"
    EFA = "efa"
    ON_CHIP = "on-chip"


class Figure(Record, kw_only=True):
    """A number and where it comes from: a Fact.id or an Assumption.id, with the arithmetic."""

    value: float
    origin: str
    formula: str = ""
    assumed: bool = False
    low: float | None = None  # the assumption's range
    high: float | None = None


class LinkClass(Record, kw_only=True):
    """What all links of one sort share. Bandwidth is per direction, in bytes/s; latency in s.

    `level` says how far up the hierarchy the link is; a route climbs no higher than it must.
    """

    name: str
    kind: LinkKind
    bandwidth: Figure
    latency: Figure
    level: int = 0


class Budget(Record, kw_only=True):
    """What the links of some classes add up to, in bytes/s and per direction.

    `owner` is "device" (links out of each), "server" or "system" (links out of all their adapters).
    `figure` is the total in the reading chosen, `readings` every total that a document prints, by
    name: at least one of them must agree, the others are shown beside it.
    """

    name: str
    owner: str
    classes: tuple[str, ...]
    figure: Figure
    readings: dict[str, Figure] = {}


class Link(Record, gc=False):
    """One direction of one cable: `src` and `dst` are node ids, `cls` a name of a LinkClass."""

    src: int
    dst: int
    cls: str


class Topology(Record, kw_only=True, dict=True):
    """A directed graph. Both directions of a cable are two links.

    `shape` names the graph of the devices, then what repeats it: ("torus", 4, 4),
    ("torus", 4, 4, 4), ("ring", 12), ("chain", 6), ("single", 1), ("switched", 36, 4) servers and
    devices each, ("torus", 4, 4, "network", 1875). `notes` carry readings a reader must know
    ("link figure read as one-way: not documented"). `printed_neighbours` are neighbour tables as a
    tool prints them for the devices of one server, by source: what `out` must reproduce.
    """

    name: str
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    classes: dict[str, LinkClass]
    shape: tuple[str | int, ...] = ()
    notes: tuple[str, ...] = ()
    budgets: tuple[Budget, ...] = ()
    printed_neighbours: dict[str, tuple[tuple[int, ...], ...]] = {}

    def __repr__(self) -> str:
        shape = " ".join(map(str, self.shape)) or "of no named shape"
        return brief(
            self,
            f"{self.name}: {shape}, {counted(len(self.nodes), 'node')}, {counted(len(self.links), 'link')}",
        )

    @cached_property
    def out(self) -> tuple[tuple[Link, ...], ...]:
        """Links leaving each node, in insertion order, indexed by node id."""
        lists: list[list[Link]] = [[] for _ in self.nodes]
        for link in self.links:
            lists[link.src].append(link)
        return tuple(map(tuple, lists))

    @cached_property
    def ends(self) -> dict[str, tuple[list[int], list[int]]]:
        """For each class the nodes where its links begin, and where they end, in insertion order: lists are
        looked through faster than links."""
        links: dict[str, list[Link]] = defaultdict(list, {name: [] for name in self.classes})
        for link in self.links:
            links[link.cls].append(link)
        return {
            name: ([link.src for link in alike], [link.dst for link in alike])
            for name, alike in links.items()
        }

    def of_kind(self, kind: NodeKind) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if node.kind == kind)

    @cached_property
    def devices(self) -> tuple[Node, ...]:
        """In rank order; the id of each is its rank."""
        return self.of_kind(NodeKind.DEVICE)

    @cached_property
    def by_name(self) -> dict[str, Node]:
        return {node.name: node for node in self.nodes}

    def neighbours(self, node: int) -> Iterator[int]:
        return (link.dst for link in self.out[node])

    def bandwidth(self, link: Link) -> float:
        """Bytes per second in this direction."""
        return self.classes[link.cls].bandwidth.value

    def latency(self, link: Link) -> float:
        """Seconds for the first byte to cross."""
        return self.classes[link.cls].latency.value


def sides_of(topology: Topology) -> list[int]:
    """The numbers of the shape up to the next word."""
    sides: list[int] = []
    for part in topology.shape[1:]:
        if isinstance(part, str):
            break
        sides.append(part)
    return sides


def torus_sides(topology: Topology) -> tuple[int, ...] | None:
    """The sides when every island is a whole torus (or ring), else None.

    `shape` claims it; a cable more or less than such a torus has (a broken link taken out) denies it.
    """
    if topology.shape[:1] not in (("torus",), ("ring",)):
        return None
    sides = sides_of(topology)
    if not sides or min(sides) < 1 or any(len(d.coord) < len(sides) for d in topology.devices):
        return None
    levels = {name for name, link_class in topology.classes.items() if link_class.level == 0}
    count = len(topology.devices)
    links = sum(sum(map(count.__gt__, map(max, *topology.ends[name]))) for name in levels)
    expected = count * sum(2 if side > 2 else side - 1 for side in sides)
    return tuple(sides) if links == expected else None


def shape_words(topology: Topology) -> str:
    """The shape for people: "torus 4 × 4", "switched, 36 servers of 4", "ring of 12"."""
    shape, sizes = topology.shape, sides_of(topology)
    kind, network = str(shape[0]) if shape else "graph", ""
    if len(shape) > 1 + len(sizes):
        word, count, *_ = (*shape[1 + len(sizes) :], 1)
        network = f", {count:,} of them on one {word}" if isinstance(count, int) else f", {word}"
    if kind == "torus":
        return "torus " + " × ".join(map(str, sizes)) + network
    if kind in ("ring", "chain") and sizes:
        return f"{kind} of {sizes[0]}{network}"
    if kind == "switched" and len(sizes) > 1:
        return f"switched, {counted(sizes[0], 'server')} of {sizes[1]}{network}"
    if kind == "single":
        return "a single device" + network
    return kind + (" " + " × ".join(map(str, sizes)) if sizes else "") + network


def neighbour_table(topology: Topology) -> list[list[int]]:
    """For every device the devices its direct links lead to, in the order of the links."""
    count = len(topology.devices)
    return [
        [
            link.dst
            for link in topology.out[device.id]
            if link.dst < count and topology.classes[link.cls].kind is LinkKind.NEURONLINK
        ]
        for device in topology.devices
    ]


FORMAT_VERSION = 1
# History: 1 first version.


class Document(Record, kw_only=True, forbid_unknown_fields=True):
    """The file: its version, then the topology as it is in memory."""

    format_version: int = FORMAT_VERSION
    topology: Topology


def to_json(topology: Topology) -> bytes:
    """Strict, indented JSON that ends in a newline."""
    data = msgspec.json.encode(Document(topology=topology))
    return msgspec.json.format(data, indent=1) + b"\n"


def from_json(data: bytes) -> Topology:
    """The topology of `to_json`. Raises `BadInput` for anything else."""
    try:
        document = msgspec.json.decode(data, type=Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(
            f"this is no exported topology: {error}",
            cause="the file was not written by topology export --as json, or is cut short",
            try_="trnbench topology export trn1.32xlarge --as json -o FILE",
        ) from error
    if document.format_version > FORMAT_VERSION:
        raise BadInput(
            f"a topology of format {document.format_version} cannot be read, this trnbench knows up to"
            f" {FORMAT_VERSION}",
            cause="it was written by a newer trnbench",
            try_="pip install --upgrade trnbench",
        )
    return document.topology
