"""Plain graphs to try properties on, and the systems that are installed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from trnbench.registry import Registry
from trnbench.topology.builder import Assembly, connect_torus, positions
from trnbench.topology.graph import Figure, LinkClass, LinkKind, NodeKind, Topology


def plain_class(
    name: str, kind: LinkKind = LinkKind.NEURONLINK, *, rate: float = 1e9, level: int = 0
) -> LinkClass:
    return LinkClass(
        name=name,
        kind=kind,
        bandwidth=Figure(value=rate, origin="test"),
        latency=Figure(value=1e-6, origin="test"),
        level=level,
    )


def plain_torus(sides: Sequence[int], rates: Sequence[float] = ()) -> Topology:
    """A torus of devices alone; `rates` in bytes/s per axis where they differ."""
    assembly = Assembly("torus")
    nodes = [assembly.add(f"d{i}", NodeKind.DEVICE, coord) for i, coord in enumerate(positions(sides))]
    names = [f"axis{axis}" for axis in range(len(sides))]
    for axis, name in enumerate(names):
        assembly.declare(plain_class(name, rate=rates[axis] if rates else 1e9))
    connect_torus(assembly, nodes, sides, names)
    return assembly.finish(("torus", *sides))


@pytest.fixture(scope="session")
def torus() -> Callable[..., Topology]:
    return plain_torus


@pytest.fixture(scope="session")
def link_class() -> Callable[..., LinkClass]:
    return plain_class


@pytest.fixture(scope="session")
def split() -> Topology:
    """Two devices that only a host joins."""
    assembly = Assembly("split")
    for i in range(2):
        assembly.add(f"d{i}", NodeKind.DEVICE, (i,))
    host = assembly.add("host", NodeKind.HOST)
    assembly.declare(plain_class("pcie", LinkKind.PCIE, level=2))
    for i in range(2):
        assembly.join(i, host, "pcie")
    return assembly.finish(("graph",))


@pytest.fixture(scope="session")
def built(registry: Registry) -> Callable[..., Topology]:
    """The graph of an installed system, by name and options."""

    def build(name: str, **options: object) -> Topology:
        return registry.system(name).topology(**options)

    return build
