"""Micro-benchmarks of what starts with Trainium2, as `kernels.toml` has them."""

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


def groups(topology: Topology) -> tuple[tuple[int, ...], ...]:
    """Devices of one place in each instance: the rings of the third dimension."""
    hosts: dict[int, list[int]] = {}
    for device in topology.devices:
        hosts.setdefault(device.host, []).append(device.id)
    return tuple(zip(*hosts.values(), strict=True))
