"""The third dimension of an UltraServer's torus: the links between its instances, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

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


def groups(topology: Topology) -> tuple[tuple[int, ...], ...]:
    """Devices of one place in each instance: the rings of the third dimension."""
    hosts: dict[int, list[int]] = {}
    for device in topology.devices:
        hosts.setdefault(device.host, []).append(device.id)
    return tuple(zip(*hosts.values(), strict=True))


def _work(point: Point, extent: Extent) -> Work:
    size, ranks = float(point["size"]), extent.hosts
    return Work(
        bytes={"payload": size},
        link_bytes=size * (ranks - 1) / ranks,
        formula=f"link_bytes = (n−1)/n·size, n = {ranks} devices of a group, one of each instance",
    )


def kernels() -> Iterator[Kernel]:
    """all_gather_across."""
    yield Kernel(
        name="all_gather_across",
        family="collective",
        title="All-gather between the instances of an UltraServer",
        about="How much of a third dimension's rate does a collective along it alone reach?",
        axes=(
            Axis(name="dtype", kind="str", values=("bf16",), choices=("bf16", "fp32"), about="of an element"),
            Axis(
                name="size",
                unit="B",
                values=(64 * KIB, 4 * MIB, 256 * MIB),
                about="what a group gathers; a device brings its part",
            ),
        ),
        scopes=(Scope.INSTANCE,),
        spread=Spread.TOGETHER,
        primary=PrimaryMetric(
            name="busbw_bytes_per_s",
            unit="B/s",
            count="link_bytes",
            peak="neuronlink_bandwidth",
            qualifier="inter-instance",
            direction=Direction.ONE_WAY,
            scope=Scope.DEVICE,
        ),
        work=_work,
        footprint=lambda point, extent: {"hbm": float(point["size"]) * (1 + 1 / extent.hosts)},
        requires=lambda point: ("devices:2", "hosts:2", "feature:third_dimension", f"dtype:{point['dtype']}"),
        tags=("fabric", "collective", "groups"),
        implementations={"collective": "all_gather"},
        groups="trnbench_trn2.kernels.across:groups",
        tests=(
            Statement(
                source="trn2-arch",
                locator="specification table, column Trn2 UltraServer",
                says="256 GB/s for each device between the instances of an UltraServer",
            ),
        ),
    )
