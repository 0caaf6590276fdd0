"""Graphs of the Trn3 UltraServers: switches, and direct links between the halves; and of parts of them."""

from __future__ import annotations

from collections.abc import Sequence

from trnbench import Record, Scope, System, TopologyError
from trnbench.topology import (
    ONE_WAY,
    Assembly,
    Budget,
    Figure,
    Figures,
    Server,
    Topology,
    add_devices,
    add_servers,
    check_direction,
    connect_switch,
    efa_budget,
    efa_classes,
    host_class,
    lone_device,
    neuronlink_class,
    open_cores,
    per_direction,
    scaled,
    switch_class,
    total,
)

LEVELS, TABLE, CHIP_PAGE = "levels", "table", "chip-page"

LINKS_REASON = {
    LEVELS: (
        "NeuronLink figures are those of the three levels (256, 320 and 128 GB/s). Only these say which link"
        " carries what, and 11 PCIe Gen6 x8 links of 64 GB/s add up to them"
    ),
    TABLE: (
        "NeuronLink figures are the 2,048 GiB/s of the instance table, divided over the levels as 256 to"
        " 320 to 128"
    ),
    CHIP_PAGE: (
        "NeuronLink figures are the 2.56 TB/s of the Trainium3 page, divided over the levels as 256 to 320"
        " to 128"
    ),
}

DIRECTION_NOTE = {
    ONE_WAY: (
        "NeuronLink figures are read as one direction's. The page calls the levels bidirectional, yet 256"
        " GB/s for four PCIe Gen6 x8 links is their raw rate in one direction, 64 GB/s each. Of the other"
        " figures nothing is said"
    ),
    "both-ways": (
        "NeuronLink figures are read as the sum of both directions, so each direction has half. The page"
        " calls the levels bidirectional; of the other figures nothing is said"
    ),
}

OWN_ADAPTERS = "every device has an EFA adapter of its own, as the device maps over EFA list them"
NO_HOST = "no document gives the host's processors and memory"

QUALIFIERS = ("intra-server", "inter-server", "inter-rack")


class Links(Record):
    """What one device has on each level in one direction: own server's switch, rack's, other half."""

    near: Figure
    rack: Figure
    direct: Figure
    readings: dict[str, Figure]  # the documented totals per device, in one direction


def gen1(
    system: System, *, neuronlink_direction: str = ONE_WAY, trn3_links: str = LEVELS, cores: bool = False
) -> Topology:
    """Four servers of 16: one switch for servers 0 and 1, one for 2 and 3; direct links 0–2 and 1–3."""
    figures = system.figures
    links = _links(figures, neuronlink_direction, trn3_links)
    assembly, devices = _devices(system)
    # Here one switch is both the server's and the rack's, so a device's links to it add up.
    shared = total((links.near, links.rack))
    assembly.declare(
        switch_class(figures, shared, name="switch"),
        neuronlink_class(figures, links.direct, 1, name="direct"),
    )
    _join_halves(assembly, devices, "switch")
    notes = [
        "wired as the figure of the Gen1 UltraServer shows it; the text only says all-to-all",
        "the levels are printed for Gen2; here those inside a server and inside a rack end at one switch"
        " and are added",
    ]
    return _finish(assembly, figures, devices, links, notes, (neuronlink_direction, trn3_links, cores))


def gen2(
    system: System, *, neuronlink_direction: str = ONE_WAY, trn3_links: str = LEVELS, cores: bool = False
) -> Topology:
    """36 servers of 4, each with a switch; a second-level switch for either rack of 18 servers.

    Device i of server s has a direct link to device i of server s + 18.
    """
    figures = system.figures
    links = _links(figures, neuronlink_direction, trn3_links)
    assembly, devices = _devices(system)
    # Documents send traffic of one server over its own switch although the rack's reaches as far.
    assembly.declare(
        switch_class(figures, links.near, name="switch-1"),
        switch_class(figures, links.rack, name="switch-2", level=1),
        neuronlink_class(figures, links.direct, 1, name="direct", level=1),
    )
    half = len(devices) // 2
    for s, server in enumerate(devices):
        connect_switch(assembly, f"s{s}.sw", server, "switch-1", coord=divmod(s, half), host=s)
    _join_halves(assembly, devices, "switch-2")
    notes = ["wired as the figure and the text of the Gen2 UltraServer describe it"]
    return _finish(assembly, figures, devices, links, notes, (neuronlink_direction, trn3_links, cores))


def networked_server(
    system: System, *, neuronlink_direction: str = ONE_WAY, trn3_links: str = LEVELS, cores: bool = False
) -> Topology:
    """trn3.48xlarge: 16 devices on a switch, each with an EFA adapter."""
    return _server(system, (neuronlink_direction, trn3_links, cores), networked=True)


def lone_server(
    system: System, *, neuronlink_direction: str = ONE_WAY, trn3_links: str = LEVELS, cores: bool = False
) -> Topology:
    """trn3pds98.48xlarge: 16 devices on a switch; no document gives its network, so none is drawn."""
    return _server(system, (neuronlink_direction, trn3_links, cores), networked=False)


def single_device(
    system: System, *, neuronlink_direction: str = ONE_WAY, trn3_links: str = LEVELS, cores: bool = False
) -> Topology:
    """trn3.3xlarge and trn3pd98.3xlarge: one device and its host."""
    check_direction(neuronlink_direction)
    _check_links(trn3_links)
    return lone_device(system.name, system.figures, cores, NO_HOST)


def _server(system: System, options: tuple[str, str, bool], *, networked: bool) -> Topology:
    """One server as Gen1 has four: its links to the server and to the rack end at one switch."""
    reading, choice, cores = options
    figures = system.figures
    links = _links(figures, reading, choice)
    shared = total((links.near, links.rack))
    count = system.devices
    assembly = Assembly(system.name)
    devices = add_devices(assembly, 1, [(i,) for i in range(count)])
    assembly.declare(switch_class(figures, shared, name="switch"), host_class(figures))
    connect_switch(assembly, "sw", devices[0], "switch")
    budgets = [Budget(name="NeuronLink-v4 to the switch", owner="device", classes=("switch",), figure=shared)]
    notes = [
        LINKS_REASON[choice],
        DIRECTION_NOTE[reading],
        "wired as one server of the Gen1 UltraServer, which has as many devices: no document says which"
        " UltraServer this instance is of",
        "switches are taken to block nothing: only the links to them limit traffic",
    ]
    server = Server.plain(count, adapters=networked)
    if networked:
        assembly.declare(*efa_classes(figures))
        add_servers(assembly, devices, server, host_cls="host", adapter_cls="adapter", network_cls="efa")
        budgets.append(efa_budget(figures, count))
        notes.append(OWN_ADAPTERS)
    else:
        add_servers(assembly, devices, server, host_cls="host")
        notes.append("no document gives the network: none is drawn")
    notes.append(NO_HOST)
    open_cores(assembly, figures, cores)
    return assembly.finish(("switched", 1, count), notes=notes, budgets=budgets)


def _join_halves(assembly: Assembly, devices: Sequence[Sequence[int]], switch: str) -> None:
    """A switch for either half of the servers, and direct links between devices of one place in them."""
    half = len(devices) // 2
    for name, group in (("sw-a", devices[:half]), ("sw-b", devices[half:])):
        connect_switch(assembly, name, [device for server in group for device in server], switch)
    for device, other in zip(devices[:half], devices[half:], strict=True):
        for a, b in zip(device, other, strict=True):
            assembly.join(a, b, "direct")


def _links(figures: Figures, reading: str, choice: str) -> Links:
    _check_links(choice)
    check_direction(reading)
    # The levels are printed once, on the page's Gen2 part; both UltraServers use the same device.
    levels_of = Figures(figures.book, (*figures.subjects, "trn3-gen2-ultraserver"))
    levels = [
        per_direction(levels_of.require("neuronlink_bandwidth", f"its {q} links", qualifiers=(q,)), reading)
        for q in QUALIFIERS
    ]
    links = total(levels)
    instance, device = figures.subjects[0], figures.subjects[-1]
    readings = {LEVELS: links}
    for name, subject in ((TABLE, instance), (CHIP_PAGE, device)):
        printed = Figures(figures.book, (subject,)).require(
            "neuronlink_bandwidth", "all its NeuronLink cables", scope=Scope.DEVICE
        )
        readings[name] = per_direction(printed, reading)
    if choice != LEVELS:
        chosen = readings[choice]
        levels = [scaled(chosen, level.value / links.value, f" × {_ratio(level, links)}") for level in levels]
    near, rack, direct = levels
    return Links(near, rack, direct, readings)


def _check_links(choice: str) -> None:
    if choice not in LINKS_REASON:
        raise TopologyError(
            f"trn3_links {choice!r} is none of the documented link figures",
            cause=f"they are {LEVELS}, {TABLE} and {CHIP_PAGE}",
            try_=f"--reading trn3-links={LEVELS}",
        )


def _ratio(part: Figure, whole: Figure) -> str:
    return f"{part.value / 1e9:g}/{whole.value / 1e9:g}"


def _devices(system: System) -> tuple[Assembly, list[list[int]]]:
    """Those of each server, in two halves. Raises `TopologyError` when the counts cannot be wired."""
    servers, devices = system.hosts, system.devices
    if servers < 2 or servers % 2 or devices % servers:
        raise TopologyError(
            f"{system.name}: {devices} devices in {servers} servers cannot be wired as an UltraServer",
            cause="it has an even number of servers, all with equally many devices",
            try_=f"trnbench spec show {system.instance.name}",
        )
    assembly = Assembly(system.name)
    each = [(i,) for i in range(devices // servers)]
    outer = [divmod(s, servers // 2) for s in range(servers)]
    return assembly, add_devices(assembly, servers, each, outer=outer)


def _finish(
    assembly: Assembly,
    figures: Figures,
    devices: Sequence[Sequence[int]],
    links: Links,
    notes: Sequence[str],
    options: tuple[str, str, bool],
) -> Topology:
    reading, choice, cores = options
    neuronlinks = tuple(assembly.classes)
    assembly.declare(host_class(figures), *efa_classes(figures))
    servers, per_server = len(devices), len(devices[0])
    add_servers(
        assembly, devices, Server.plain(per_server), host_cls="host", adapter_cls="adapter", network_cls="efa"
    )
    open_cores(assembly, figures, cores)
    return assembly.finish(
        ("switched", servers, per_server),
        notes=[
            LINKS_REASON[choice],
            DIRECTION_NOTE[reading],
            *notes,
            "switches are taken to block nothing: only the links to them limit traffic",
            OWN_ADAPTERS,
        ],
        budgets=[
            Budget(
                name="NeuronLink-v4 per device",
                owner="device",
                classes=neuronlinks,
                figure=links.readings[choice],
                readings=links.readings,
            ),
            efa_budget(figures, servers * per_server),
        ],
    )


def within_servers(topology: Topology) -> tuple[tuple[int, ...], ...]:
    """The devices of each server."""
    servers: dict[int, list[int]] = {}
    for device in topology.devices:
        servers.setdefault(device.host, []).append(device.id)
    return tuple(map(tuple, servers.values()))


def within_racks(topology: Topology) -> tuple[tuple[int, ...], ...]:
    """Devices of one place in each server of a rack, none where no two share a rack and a place: coordinates
    are (rack, server, place)."""
    racks: dict[tuple[int, int], list[int]] = {}
    for device in topology.devices:
        racks.setdefault((device.coord[0], device.coord[-1]), []).append(device.id)
    return tuple(tuple(rack) for rack in racks.values() if len(rack) > 1)
