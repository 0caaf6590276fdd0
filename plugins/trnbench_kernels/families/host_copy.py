"""Copies between host memory and device memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trnbench.facts.scope import Scope
from trnbench.kernels.axis import Axis
from trnbench.kernels.extent import Extent
from trnbench.kernels.kernel import Kernel, Point, PrimaryMetric
from trnbench.kernels.published import PublishedAs, always, renamed
from trnbench.kernels.spread import Spread
from trnbench.kernels.sweep import GIB, KIB, MIB
from trnbench.kernels.work import Work


def _work(point: Point, extent: Extent) -> Work:
    moved = float(point["size"]) * extent.devices
    formula = "host_bytes = size, once over the host link"
    if extent.devices > 1:
        formula += f"; × {extent.devices:,} devices"
    return Work(bytes={"host": moved, "hbm": moved}, formula=formula)


def _footprint(point: Point, _: Extent) -> Mapping[str, float]:
    return {"hbm": float(point["size"]), "host": float(point["size"])}


def kernels() -> Iterator[Kernel]:
    """host_to_device, device_to_host."""
    for name, title, about in (
        ("host_to_device", "Host to device", "What feeding a device costs, alone and all at once."),
        ("device_to_host", "Device to host", "What bringing results back costs, alone and all at once."),
    ):
        yield Kernel(
            name=name,
            family="copy",
            title=title,
            about=about,
            axes=(
                Axis(
                    name="size",
                    unit="B",
                    values=(64 * KIB, 4 * MIB, 64 * MIB, GIB),
                    about="bytes, for each device",
                ),
            ),
            scopes=(Scope.DEVICE, Scope.INSTANCE),
            spread=Spread.DEVICES,
            # No document gives a rate of the host link.
            primary=PrimaryMetric(name="host_bytes_per_s", unit="B/s", count="host_bytes"),
            work=_work,
            footprint=_footprint,
            requires=lambda _: (),
            tags=("memory", "host", "copy"),
            implementations={"model": "roofline"},
            published=PublishedAs(
                group="host-copy",
                operation=always(name),
                program=always(name),
                sizes=renamed({"bytes": "size"}),
            ),
        )
