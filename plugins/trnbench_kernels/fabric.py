"""Links: collectives over all devices of a system, the dispatch of experts, and pairs of devices.

Of one tensor, whoever holds it, the ranks are those that the runtime makes and nccom-test counts: the logical
cores. Where each rank has a tensor of its own a case counts one for each device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from trnbench.facts.fact import Direction, Scope
from trnbench.kernels.kernel import (
    Axis,
    Kernel,
    Point,
    PrimaryMetric,
    PublishedAs,
    always,
    renamed,
    word_axis,
)
from trnbench.kernels.work import (
    LINK_SIZES,
    SYSTEM,
    Extent,
    Spread,
    Work,
    all_but_own,
    item_bytes,
    once,
    ratio,
    twice,
)

if TYPE_CHECKING:
    from fractions import Fraction

DTYPES = ("bf16", "fp16", "fp32", "fp8", "int8")

BUSBW = PrimaryMetric(
    name="busbw_bytes_per_s",
    unit="B/s",
    count="link_bytes",
    peak="neuronlink_bandwidth",
    direction=Direction.ONE_WAY,  # what one rank sends; it receives as much at the same time
    scope=Scope.DEVICE,
)

ACROSS_HOSTS = {
    Scope.CLUSTER: PrimaryMetric(
        name="network_bytes_per_s",
        unit="B/s",
        count="network_bytes",
        peak="efa_bandwidth",
        direction=Direction.ONE_WAY,
        scope=Scope.INSTANCE,  # of one host
    )
}
"""On a cluster busbw is held against nothing: ranks of one host reach each other without the network."""


class Pattern(msgspec.Struct, frozen=True):
    """`factor(n)` times the full tensor is what one of `n` ranks must send.

    A host is to other hosts what a rank is to other ranks: it must send `factor(hosts)` of the
    tensor, of one tensor where its ranks share it, of one for each of them if `own` is set.
    `shared`: the full tensor is split over the ranks, so each needs an element of its own. `rank`: what a
    rank of a case is.
    `held` is what a rank keeps in memory, in full tensors: (whole buffers, buffers of 1/n).
    """

    title: str
    about: str
    factor: Callable[[int], Fraction]
    rule: str
    size: str
    shared: bool
    held: tuple[int, int]
    own: bool = False
    rank: str = "device"


# Factors of nccl-tests' performance notes; nccom-test documents the same for those it runs.
PATTERNS = {
    "all_reduce": Pattern(
        "All-reduce",
        "Every rank ends with the sum: gradients in data-parallel training.",
        twice,
        "2·(n−1)/n",
        "the tensor that is summed, the same size on each rank",
        False,
        (2, 0),
        rank="logical-core",
    ),
    "all_gather": Pattern(
        "All-gather",
        "Every rank ends with all shards: weights in fully sharded training.",
        all_but_own,
        "(n−1)/n",
        "the gathered tensor; a rank brings 1/n of it",
        True,
        (1, 1),
        rank="logical-core",
    ),
    "reduce_scatter": Pattern(
        "Reduce-scatter",
        "Every rank ends with its shard of the sum: gradients in fully sharded training.",
        all_but_own,
        "(n−1)/n",
        "the tensor that is summed; a rank keeps 1/n of it",
        True,
        (1, 1),
        rank="logical-core",
    ),
    "all_to_all": Pattern(
        "All-to-all",
        "Every rank sends another piece to each: the hardest pattern for a torus.",
        all_but_own,
        "(n−1)/n",
        "the send buffer of one rank, 1/n of it for each",
        True,
        (2, 0),
        own=True,
    ),
    "broadcast": Pattern(
        "Broadcast",
        "One rank's tensor on all: start-up and parameter servers.",
        once,
        "1",
        "the tensor that is sent",
        False,
        (1, 0),
    ),
    "permute": Pattern(
        "Permute",
        "Every rank sends to its successor and receives from its predecessor: pipelines and rings.",
        once,
        "1",
        "what one rank sends",
        False,
        (2, 0),
    ),
}


def crosses_network(extent: Extent) -> bool:
    """Whether a network joins the hosts; the links of an UltraServer join its hosts themselves."""
    return extent.scope is Scope.CLUSTER and extent.hosts > 1


def alone(extent: Extent) -> str:
    """Why a cluster of one host makes no case; "" for everything else."""
    if extent.scope is not Scope.CLUSTER or extent.hosts > 1:
        return ""
    return "a cluster of one host has no network to cross"


def peak_factor(collective: str, ranks: int, devices: int) -> Fraction | None:
    """What busbw of `ranks` ranks can be of the rate of one device's links; exact, None where nothing must
    leave a device.

    Of a tensor of S bytes a device must send factor(devices)·S (of its ranks' own tensors each one's), and
    busbw is factor(ranks)·S by the time.
    """
    pattern = PATTERNS.get(collective)
    ranks_each = ranks // devices
    if devices < 2 or (collective == "permute" and ranks_each > 1):
        return None
    if pattern is None:
        return ratio(1)
    return pattern.factor(ranks) / (pattern.factor(devices) * (ranks_each if pattern.own else 1))


def _peak_factor(name: str) -> Callable[[Extent], Fraction]:
    return lambda extent: peak_factor(name, extent.ranks, extent.devices) or ratio(1)


def _collective_work(pattern: Pattern) -> Callable[[Point, Extent], Work]:
    def work(point: Point, extent: Extent) -> Work:
        size = int(point["size"])
        formula = f"link_bytes = {pattern.rule}·size, n = {extent.ranks:,} ranks, one per {extent.rank_kind}"
        network = 0.0
        if crosses_network(extent):
            tensors = extent.ranks // extent.hosts if pattern.own else 1
            network = float(pattern.factor(extent.hosts) * size * tensors)
            rule = pattern.rule.replace("n", "h") + (f"·{tensors}" if pattern.own else "")
            formula += f"; network_bytes = {rule}·size, h = {extent.hosts:,} hosts"
        return Work(
            bytes={"payload": float(size)},
            link_bytes=float(pattern.factor(extent.ranks) * size),
            network_bytes=network,
            formula=f"{formula}; size is {pattern.size}",
        )

    return work


def _collective_footprint(pattern: Pattern) -> Callable[[Point, Extent], Mapping[str, float]]:
    buffers, shards = pattern.held

    def footprint(point: Point, extent: Extent) -> Mapping[str, float]:
        ranks = max(extent.ranks // extent.devices, 1)
        return {"hbm": float(point["size"]) * ranks * (buffers + shards / extent.ranks)}

    return footprint


def _collective_refuses(pattern: Pattern) -> Callable[[Point, Extent], str]:
    def refuses(point: Point, extent: Extent) -> str:
        if why := alone(extent):
            return why
        item = item_bytes(point["dtype"])
        if not pattern.shared or int(point["size"]) >= item * extent.ranks:
            return ""
        return (
            f"{int(point['size']):,} bytes split over {extent.ranks:,} ranks leave each less than "
            f"one {point['dtype']} element"
        )

    return refuses


def _collective_requires(point: Point) -> tuple[str, ...]:
    return ("devices:2", f"dtype:{point['dtype']}")


def collectives() -> Iterator[Kernel]:
    """all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, permute."""
    for name, pattern in PATTERNS.items():
        yield Kernel(
            name=name,
            family="collective",
            title=pattern.title,
            about=pattern.about,
            axes=(
                word_axis("dtype", "of an element", "bf16", choices=DTYPES),
                Axis(name="size", unit="B", values=LINK_SIZES, about=pattern.size),
            ),
            scopes=SYSTEM,
            spread=Spread.TOGETHER,
            primary=msgspec.structs.replace(BUSBW, peak_factor=_peak_factor(name)),
            rank=pattern.rank,
            primary_at=ACROSS_HOSTS,
            work=_collective_work(pattern),
            footprint=_collective_footprint(pattern),
            requires=_collective_requires,
            refuses=_collective_refuses(pattern),
            tags=("fabric", "collective"),
            implementations={"collective": name},
            published=PublishedAs(
                # Publications measure a permute as one rank sending to another.
                group="point-to-point" if name == "permute" else "collective",
                operation=always(name),
                program=always(name),
                sizes=renamed({"bytes": "size"}),
            ),
        )


def dispatched(point: Point) -> float:
    """Bytes one rank hands to its experts, those at home included."""
    tokens, hidden, top_k = (int(point[name]) for name in ("tokens", "hidden", "top_k"))
    return tokens * top_k * hidden * item_bytes(point["dtype"])


def _dispatch_work(point: Point, extent: Extent) -> Work:
    sent, ranks, hosts = dispatched(point), extent.ranks, extent.hosts
    network = crosses_network(extent)
    return Work(
        bytes={"payload": sent},
        link_bytes=sent * (ranks - 1) / ranks,
        network_bytes=sent * (ranks // hosts) * (hosts - 1) / hosts if network else 0.0,
        formula=(
            f"link_bytes = (n−1)/n·tokens·top_k·hidden·{item_bytes(point['dtype']):g} B, "
            f"n = {ranks:,} ranks; "
            + (f"network_bytes: those of a host to the other {hosts - 1:,}; " if network else "")
            + "experts spread evenly, every one equally likely"
        ),
    )


def _dispatch_footprint(point: Point, _: Extent) -> Mapping[str, float]:
    # The tokens once, the copies sent, and as many received.
    return {"hbm": dispatched(point) * (2 + 1 / int(point["top_k"]))}


def _dispatch_refuses(point: Point, extent: Extent) -> str:
    if int(point["top_k"]) <= extent.ranks:
        return alone(extent)
    return f"top_k = {point['top_k']} experts on different ranks need as many; there are {extent.ranks:,}"


def dispatches() -> Iterator[Kernel]:
    """moe_dispatch."""
    yield Kernel(
        name="moe_dispatch",
        family="moe",
        title="Expert dispatch",
        about="An all-to-all whose size follows from tokens and top-k: what routing costs.",
        axes=(
            word_axis("dtype", "of an activation", "bf16", choices=DTYPES),
            Axis(name="tokens", values=(128, 4096), about="tokens on each rank"),
            Axis(name="hidden", values=(4096,), about="width of a token"),
            Axis(name="top_k", values=(2, 8), about="experts a token goes to"),
        ),
        scopes=SYSTEM,
        spread=Spread.TOGETHER,
        primary=BUSBW,
        primary_at=ACROSS_HOSTS,
        work=_dispatch_work,
        footprint=_dispatch_footprint,
        requires=lambda point: ("devices:2", f"dtype:{point['dtype']}"),
        refuses=_dispatch_refuses,
        tags=("fabric", "collective", "operator"),
        implementations={"collective": "all_to_all"},
        published=PublishedAs(
            group="collective",
            operation=always("all_to_all"),
            program=always("all_to_all"),
            sizes=lambda point: {"bytes": dispatched(point)},
        ),
    )


# Documents give the sum of a device's links, never one link: nothing to hold this rate against.
_PAIR_RATE = PrimaryMetric(
    name="link_bytes_per_s", unit="B/s", count="link_bytes", direction=Direction.ONE_WAY
)

_REACH = word_axis(
    "reach", "one link away in the same host, or the same place in the next host", "neighbour", "other-host"
)


def _pair_work(point: Point, _: Extent) -> Work:
    size = float(point["size"])
    return Work(
        bytes={"payload": size, "hbm": 2 * size},
        link_bytes=size,
        formula="link_bytes = size, one way; hbm_bytes = 2·size (read there, written here)",
    )


def _pair_footprint(point: Point, _: Extent) -> Mapping[str, float]:
    return {"hbm": float(point["size"])}


def _pair_requires(point: Point) -> tuple[str, ...]:
    return ("devices:2", "hosts:2") if point["reach"] == "other-host" else ("devices:2",)


def pair_transfers() -> Iterator[Kernel]:
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
            primary=_PAIR_RATE,
            work=_pair_work,
            footprint=_pair_footprint,
            requires=_pair_requires,
            tags=("fabric", "pair", "latency"),
            implementations={"collective": name},
            published=PublishedAs(
                group="point-to-point",
                operation=always("sendrecv"),
                program=always("sendrecv" if name == "point_to_point" else name),
                sizes=renamed({"bytes": "size"}),
            ),
        )
