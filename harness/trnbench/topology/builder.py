"""Builders of graphs: chains, rings, tori, hypercubes, switches, and what surrounds devices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product
from math import prod

from trnbench.errors import TopologyError
from trnbench.record import Record
from trnbench.topology.figures import Figures, core_class, host_class
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
        self.classes.update((link_class.name, link_class) for link_class in classes)

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
        count = len(self.nodes)
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
                names = f"{self.nodes[link.src].name} to {self.nodes[link.dst].name}"
                raise self._error(
                    f"link class {link.cls!r} was never declared, of a link from {names}",
                    "declare it before `finish`",
                )

    def _error(self, what: str, try_: str) -> TopologyError:
        return TopologyError(f"{self.name}: {what}", cause="a mistake in the topology builder", try_=try_)


def size(dims: Sequence[int]) -> int:
    """Number of positions. Raises `TopologyError` when a side is not a positive whole number."""
    if not dims or any(side < 1 for side in dims):
        shown = "×".join(map(str, dims)) or "none"
        raise TopologyError(
            f"sides {shown} make no torus",
            cause="every side must be 1 or more",
            try_='for example sides (4, 4), or a size like "trn1-ultracluster:64"',
        )
    return prod(dims)


def positions(dims: Sequence[int]) -> list[tuple[int, ...]]:
    """Every coordinate, in the order of its index."""
    size(dims)
    return list(product(*(range(side) for side in dims)))


def index(coord: Sequence[int], dims: Sequence[int]) -> int:
    """Where `coord` stands in `positions(dims)`."""
    offset = 0
    for at, side in zip(coord, dims, strict=True):
        offset = offset * side + at
    return offset


@lru_cache(maxsize=8)
def torus_neighbours(dims: tuple[int, ...]) -> tuple[tuple[int, int, int], ...]:
    """(position, position of a neighbour, axis) for every step on a torus: from each position those towards
    lower coordinates, axis by axis, then those towards higher ones. A side of 2 has one, a side of 1 none.
    They are kept: a cluster has many tori of the same sides.
    """
    return tuple(
        (here, index(step(coord, axis, by, dims), dims), axis)
        for here, coord in enumerate(positions(dims))
        for by in (-1, 1)
        for axis, side in enumerate(dims)
        if side > 2 or (side == 2 and by == -1)
    )


def step(coord: Sequence[int], axis: int, by: int, dims: Sequence[int]) -> tuple[int, ...]:
    """The coordinate `by` steps along `axis`, wrapping around."""
    moved = list(coord)
    moved[axis] = (moved[axis] + by) % dims[axis]
    return tuple(moved)


def connect_switch(
    assembly: Assembly,
    name: str,
    members: Iterable[int],
    cls: str,
    *,
    kind: NodeKind = NodeKind.SWITCH,
    coord: tuple[int, ...] = (),
    host: int = 0,
) -> int:
    """Adds a switch (or a network) and a cable from every member to it; returns its id."""
    hub = assembly.add(name, kind, coord, host)
    for member in members:
        assembly.join(member, hub, cls)
    return hub


class Server(Record, kw_only=True):
    """How one server is wired. Numbers are positions of devices within the server.

    `numa` lists the devices of each NUMA node, `adapters` the devices that share each EFA adapter.
    """

    numa: tuple[tuple[int, ...], ...]
    adapters: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def plain(cls, devices: int, *, adapters: bool = True) -> Server:
        """One host; one adapter for each device, or none."""
        adapters_ = tuple((i,) for i in range(devices)) if adapters else ()
        return cls(numa=(tuple(range(devices)),), adapters=adapters_)


def add_devices(
    assembly: Assembly,
    servers: int,
    each: Sequence[tuple[int, ...]],
    *,
    outer: Sequence[tuple[int, ...]] = (),
) -> list[list[int]]:
    """Adds the devices of every server and returns their ids, server by server.

    `each` are the coordinates within a server, `outer` those of the servers; the coordinate of a
    device is the one followed by the other. A lone server adds neither coordinate nor prefix.
    """
    places = outer or [(s,) for s in range(servers)]
    ids = []
    for s in range(servers):
        prefix, server_coord = ("", ()) if servers == 1 else (f"s{s}.", places[s])
        ids.append(
            [
                assembly.add(f"{prefix}d{i}", NodeKind.DEVICE, server_coord + at, s)
                for i, at in enumerate(each)
            ]
        )
    return ids


def add_servers(
    assembly: Assembly,
    devices: Sequence[Sequence[int]],
    server: Server,
    *,
    host_cls: str,
    adapter_cls: str = "",
    network_cls: str = "",
) -> None:
    """Gives every group of `devices` its hosts and adapters, and joins all adapters in one network.

    The network is a single node: documents call it non-blocking, so only the adapters' own links
    can be a bottleneck.
    """
    adapters: list[int] = []
    for s, group in enumerate(devices):
        prefix = "" if len(devices) == 1 else f"s{s}."
        for k, members in enumerate(server.numa):
            name = f"{prefix}numa{k}" if len(server.numa) > 1 else f"{prefix}host"
            host = assembly.add(name, NodeKind.HOST, (s, k), s)
            for member in members:
                assembly.join(group[member], host, host_cls)
        for k, members in enumerate(server.adapters):
            adapter = assembly.add(f"{prefix}efa{k}", NodeKind.ADAPTER, (s, k), s)
            adapters.append(adapter)
            for member in members:
                assembly.join(group[member], adapter, adapter_cls)
    if adapters:
        connect_switch(assembly, "network", adapters, network_cls, kind=NodeKind.NETWORK)


def add_cores(assembly: Assembly, per_device: int, cls: str) -> None:
    """Opens every device into its NeuronCores: core c of device d is called "d.c"."""
    for device in [node for node in assembly.nodes if node.kind == NodeKind.DEVICE]:
        for c in range(per_device):
            core = assembly.add(f"{device.name}.c{c}", NodeKind.CORE, (*device.coord, c), device.host)
            assembly.join(core, device.id, cls)


def open_cores(assembly: Assembly, figures: Figures, wanted: bool) -> None:
    """Opens every device into as many NeuronCores as documents count, where they are `wanted`."""
    if wanted:
        count = figures.count("core_count", "its NeuronCores")
        assembly.declare(core_class(figures, count))
        add_cores(assembly, count, "on-chip")


def lone_device(name: str, figures: Figures, cores: bool, *notes: str) -> Topology:
    """One device and its host; whatever network they have is not drawn."""
    assembly = Assembly(name)
    devices = add_devices(assembly, 1, [(0,)])
    assembly.declare(host_class(figures))
    add_servers(assembly, devices, Server.plain(1, adapters=False), host_cls="host")
    open_cores(assembly, figures, cores)
    return assembly.finish(("single", 1), notes=["a single device: nothing to link it to", *notes])


def connect_ring(assembly: Assembly, nodes: Sequence[int], cls: str) -> None:
    """Joins every node to the one before and the one after; the last to the first.

    Two nodes get one cable, a single node none. From each node the link to the one before is added
    first, as `neuron-ls` prints neighbours.
    """
    count = len(nodes)
    if count < 3:
        connect_chain(assembly, nodes, cls)
        return
    for i, node in enumerate(nodes):
        assembly.send(node, nodes[i - 1], cls)
        assembly.send(node, nodes[(i + 1) % count], cls)


def connect_chain(assembly: Assembly, nodes: Sequence[int], cls: str) -> None:
    """Joins every node to the one before and the one after; both ends stay open."""
    for i, node in enumerate(nodes):
        if i > 0:
            assembly.send(node, nodes[i - 1], cls)
        if i + 1 < len(nodes):
            assembly.send(node, nodes[i + 1], cls)


def connect_torus(
    assembly: Assembly, nodes: Sequence[int], dims: Sequence[int], cls: str | Sequence[str]
) -> None:
    """Joins `nodes` (row by row) to their neighbours along every axis, with wrap-around.

    `cls` is one class for all axes or one per axis. A side of 2 gives one cable, not two; a side of
    1 none. From each node the links towards lower coordinates come first, axis by axis, then those
    towards higher ones: on 4×4 that is up, left, down, right, the order in which `neuron-ls` prints.
    Raises `TopologyError` for sides that make no torus, ValueError when the counts differ.
    """
    if len(nodes) != size(dims):
        raise ValueError(f"{len(nodes)} nodes do not fill a torus of {'×'.join(map(str, dims))}")
    classes = [cls] * len(dims) if isinstance(cls, str) else list(cls)
    steps = torus_neighbours(tuple(dims))
    assembly.links += [Link(nodes[here], nodes[there], classes[axis]) for here, there, axis in steps]


def connect_hypercube(assembly: Assembly, nodes: Sequence[int], cls: str) -> None:
    """Joins nodes whose positions differ in one bit. ValueError unless there are 2^n of them."""
    count = len(nodes)
    if count < 1 or count & (count - 1):
        raise ValueError(f"a hypercube has 2^n nodes, not {count}")
    for position, node in enumerate(nodes):
        for bit in range(count.bit_length() - 1):
            assembly.send(node, nodes[position ^ (1 << bit)], cls)


def gray(number: int) -> int:
    """The reflected Gray code: consecutive numbers differ in one bit, and so do 3 and 0 of two bits."""
    return number ^ (number >> 1)


def label(coord: Sequence[int]) -> int:
    """The hypercube corner of a position in a torus whose sides are all 4.

    Each coordinate becomes two bits of Gray code, so one step along any axis, the wrap-around
    included, flips one bit: a ring of 4 is a square, and a product of squares a hypercube.
    """
    corner = 0
    for at in coord:
        corner = corner << 2 | gray(at)
    return corner
