"""The two levels of the switches: of one server, and of the servers in a rack."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import msgspec

from trnbench import (
    Axis,
    Direction,
    Extent,
    Kernel,
    Point,
    PrimaryMetric,
    Scope,
    Spread,
    Statement,
    Work,
)

if TYPE_CHECKING:
    from trnbench import Topology

KIB, MIB = 1 << 10, 1 << 20
RACKS = 2  # halves of an UltraServer


def within_servers(topology: Topology) -> tuple[tuple[int, ...], ...]:
    """The devices of each server."""
    servers: dict[int, list[int]] = {}
    for device in topology.devices:
        servers.setdefault(device.host, []).append(device.id)
    return tuple(map(tuple, servers.values()))


def within_racks(topology: Topology) -> tuple[tuple[int, ...], ...]:
    """Devices of one place in each server of a rack: coordinates are (rack, server, place)."""
    racks: dict[tuple[int, int], list[int]] = {}
    for device in topology.devices:
        racks.setdefault((device.coord[0], device.coord[-1]), []).append(device.id)
    return tuple(map(tuple, racks.values()))


class Level(msgspec.Struct, frozen=True):
    """One level: who gathers, how many of them, their groups, and the document's figure of its links."""

    where: str
    who: str
    ranks: Callable[[Extent], int]
    groups: str
    figure: str


_LEVELS = (
    Level(
        "server",
        "a server",
        lambda extent: extent.devices // extent.hosts,
        "within_servers",
        "256 GB/s",
    ),
    Level(
        "rack",
        "one place in the servers of a rack",
        lambda extent: extent.hosts // RACKS,
        "within_racks",
        "320 GB/s",
    ),
)


def _work(level: Level) -> Callable[[Point, Extent], Work]:
    def work(point: Point, extent: Extent) -> Work:
        size, ranks = float(point["size"]), max(level.ranks(extent), 1)  # of a lone host no group is left
        return Work(
            bytes={"payload": size},
            link_bytes=size * (ranks - 1) / ranks,
            formula=f"link_bytes = (n−1)/n·size, n = {ranks} devices of {level.who}",
        )

    return work


def kernels() -> Iterator[Kernel]:
    """all_gather_server, all_gather_rack."""
    for level in _LEVELS:
        yield Kernel(
            name=f"all_gather_{level.where}",
            family="collective",
            title=f"All-gather of {level.who}",
            about=f"What of its links' rate does a switch give when the devices of {level.who} gather?",
            axes=(
                Axis(
                    name="dtype",
                    kind="str",
                    values=("bf16",),
                    choices=("bf16", "fp32"),
                    about="of each",
                ),
                Axis(
                    name="size",
                    unit="B",
                    values=(64 * KIB, 4 * MIB, 256 * MIB),
                    about="what a group gathers; a device brings its part",
                ),
            ),
            scopes=(Scope.INSTANCE,),
            spread=Spread.TOGETHER,
            # Held against nothing: the page calls a level's figure both directions' and gives links whose
            # rates in one direction add up to it.
            primary=PrimaryMetric(
                name="busbw_bytes_per_s", unit="B/s", count="link_bytes", direction=Direction.ONE_WAY
            ),
            work=_work(level),
            footprint=lambda point, _: {"hbm": 2.0 * float(point["size"])},
            requires=lambda point: ("devices:2", "hosts:2", "link:neuronswitch", f"dtype:{point['dtype']}"),
            tags=("fabric", "collective", "groups"),
            implementations={"collective": "all_gather"},
            groups=f"trnbench_trn3.kernels.switch:{level.groups}",
            tests=(
                Statement(
                    source="trn3-arch",
                    locator="section Connectivity, bandwidth per device",
                    says=f"{level.figure} of each device on the links of this level",
                ),
            ),
        )
