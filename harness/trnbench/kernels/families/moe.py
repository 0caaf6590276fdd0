"""Mixture of experts: sending every token to the devices that hold its experts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trnbench.kernels.axis import Axis
from trnbench.kernels.dtype import item_bytes
from trnbench.kernels.extent import Extent
from trnbench.kernels.families.collective import ACROSS_HOSTS, BUSBW, DTYPES, alone, crosses_network
from trnbench.kernels.kernel import Kernel, Point
from trnbench.kernels.spread import Spread
from trnbench.kernels.sweep import SYSTEM
from trnbench.kernels.work import Work


def dispatched(point: Point) -> float:
    """Bytes one rank hands to its experts, those at home included."""
    tokens, hidden, top_k = (int(point[name]) for name in ("tokens", "hidden", "top_k"))
    return tokens * top_k * hidden * item_bytes(point["dtype"])


def _work(point: Point, extent: Extent) -> Work:
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


def _footprint(point: Point, _: Extent) -> Mapping[str, float]:
    # The tokens once, the copies sent, and as many received.
    return {"hbm": dispatched(point) * (2 + 1 / int(point["top_k"]))}


def _refuses(point: Point, extent: Extent) -> str:
    if int(point["top_k"]) <= extent.ranks:
        return alone(extent)
    return f"top_k = {point['top_k']} experts on different ranks need as many; there are {extent.ranks:,}"


def kernels() -> Iterator[Kernel]:
    """moe_dispatch."""
    yield Kernel(
        name="moe_dispatch",
        family="moe",
        title="Expert dispatch",
        about="An all-to-all whose size follows from tokens and top-k: what routing costs.",
        axes=(
            Axis(name="dtype", kind="str", values=("bf16",), choices=DTYPES, about="of an activation"),
            Axis(name="tokens", values=(128, 4096), about="tokens on each rank"),
            Axis(name="hidden", values=(4096,), about="width of a token"),
            Axis(name="top_k", values=(2, 8), about="experts a token goes to"),
        ),
        scopes=SYSTEM,
        spread=Spread.TOGETHER,
        primary=BUSBW,
        primary_at=ACROSS_HOSTS,
        work=_work,
        footprint=_footprint,
        requires=lambda point: ("devices:2", f"dtype:{point['dtype']}"),
        refuses=_refuses,
        tags=("fabric", "collective", "operator"),
        implementations={"collective": "all_to_all"},
    )
