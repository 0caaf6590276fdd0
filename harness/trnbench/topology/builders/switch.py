"""Switches: non-blocking, so that only the links to them limit traffic."""

from __future__ import annotations

from collections.abc import Iterable

from trnbench.topology.builders.assembly import Assembly
from trnbench.topology.graph import NodeKind


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
