"""Two devices: sending from one to the other, and reading the other's memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trnbench.facts.scope import Direction
from trnbench.kernels.axis import Axis
from trnbench.kernels.extent import Extent
from trnbench.kernels.kernel import Kernel, Point, PrimaryMetric
from trnbench.kernels.published import PublishedAs, always, renamed
from trnbench.kernels.spread import Spread
from trnbench.kernels.sweep import LINK_SIZES, SYSTEM
from trnbench.kernels.work import Work

# Documents give the sum of a device's links, never one link: nothing to hold this rate against.
_PRIMARY = PrimaryMetric(name="link_bytes_per_s", unit="B/s", count="link_bytes", direction=Direction.ONE_WAY)

_REACH = Axis(
    name="reach",
    kind="str",
    values=("neighbour", "other-host"),
    choices=("neighbour", "other-host"),
    about="one link away in the same host, or the same place in the next host",
)


def _work(point: Point, _: Extent) -> Work:
    size = float(point["size"])
    return Work(
        bytes={"payload": size, "hbm": 2 * size},
        link_bytes=size,
        formula="link_bytes = size, one way; hbm_bytes = 2·size (read there, written here)",
    )


def _footprint(point: Point, _: Extent) -> Mapping[str, float]:
    return {"hbm": float(point["size"])}


def _requires(point: Point) -> tuple[str, ...]:
    return ("devices:2", "hosts:2") if point["reach"] == "other-host" else ("devices:2",)


def kernels() -> Iterator[Kernel]:
    """point_to_point, remote_memory_read."""
    for name, title, about, sizes in (
        (
            "point_to_point",
            "Point to point",
            "One device sends to another: a link's latency and bandwidth, by itself.",
            LINK_SIZES,
        ),
        (
            "remote_memory_read",
            "Remote memory read",
            "One device reads another's device memory: what pooled memory costs against one's own.",
            LINK_SIZES[1::2],
        ),
    ):
        yield Kernel(
            name=name,
            family="link",
            title=title,
            about=about,
            axes=(_REACH, Axis(name="size", unit="B", values=sizes, about="bytes that cross the link")),
            scopes=SYSTEM,
            spread=Spread.PAIR,
            primary=_PRIMARY,
            work=_work,
            footprint=_footprint,
            requires=_requires,
            tags=("fabric", "pair", "latency"),
            implementations={"collective": name},
            published=PublishedAs(
                group="point-to-point",
                operation=always("sendrecv"),
                program=always("sendrecv" if name == "point_to_point" else name),
                sizes=renamed({"bytes": "size"}),
            ),
        )
