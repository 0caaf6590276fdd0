"""Micro-benchmarks of what starts with Trainium3, as `kernels.toml` has them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from trnbench import Kernel, Variant, read_kernels

if TYPE_CHECKING:
    from trnbench import Topology


def kernels() -> Iterator[Kernel | Variant]:
    """In the order in which reports show them."""
    return read_kernels(Path(__file__).with_name("kernels.toml"), __name__)


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
