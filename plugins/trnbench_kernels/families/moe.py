"""Mixture of experts: sending tokens to the devices that hold their experts, and the experts' products."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trnbench.kernels.axis import Axis
from trnbench.kernels.dtype import item_bytes, needs
from trnbench.kernels.extent import Extent
from trnbench.kernels.kernel import Kernel, Point, PrimaryMetric
from trnbench.kernels.published import PublishedAs, always
from trnbench.kernels.spread import Spread
from trnbench.kernels.sweep import EVERY_SCOPE, SYSTEM, per_core
from trnbench.kernels.work import Work
from trnbench_kernels.families.collective import ACROSS_HOSTS, BUSBW, DTYPES, alone, crosses_network


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


def _expert_sizes(point: Point) -> tuple[int, int, int, int]:
    experts, tokens, hidden, columns = (
        int(point[name]) for name in ("experts", "tokens", "hidden", "columns")
    )
    return experts, tokens, hidden, columns


def _expert_memory(point: Point) -> float:
    experts, tokens, hidden, columns = _expert_sizes(point)
    elements = experts * (hidden * tokens + hidden * columns + tokens * columns)
    return elements * item_bytes(point["dtype"])


def _expert_work(point: Point, extent: Extent) -> Work:
    experts, tokens, hidden, columns = _expert_sizes(point)
    item = item_bytes(point["dtype"])
    return Work(
        flops=2.0 * experts * tokens * hidden * columns * extent.cores,
        bytes={"hbm": _expert_memory(point) * extent.cores},
        formula=per_core(
            "flops = 2·experts·tokens·hidden·columns; hbm_bytes = experts·(hidden·tokens + hidden·columns + "
            f"tokens·columns)·{item:g} B, each array once",
            extent,
        ),
    )


def kernels() -> Iterator[Kernel]:
    """moe_dispatch, moe_experts."""
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
        published=PublishedAs(
            group="collective",
            operation=always("all_to_all"),
            program=always("all_to_all"),
            sizes=lambda point: {"bytes": dispatched(point)},
        ),
    )
    yield Kernel(
        name="moe_experts",
        family="moe",
        title="Expert products",
        about="Each expert's weights times the tokens sent to it: few tokens make it a matter of memory.",
        axes=(
            Axis(name="dtype", kind="str", values=("bf16",), choices=("bf16", "fp16"), about="in and out"),
            Axis(name="experts", values=(8,), about="experts of one core"),
            Axis(name="tokens", values=(16, 128, 512), about="tokens of each expert"),
            Axis(name="hidden", values=(2048,), about="width of a token"),
            Axis(name="columns", values=(2048,), about="columns of an expert's weights"),
        ),
        scopes=EVERY_SCOPE,
        default_scopes=EVERY_SCOPE[:1],
        primary=PrimaryMetric(name="flops_per_s", unit="FLOP/s", count="flops", peak="peak_flops"),
        work=_expert_work,
        footprint=lambda point, _: {"hbm": _expert_memory(point)},
        requires=lambda point: (*needs(point["dtype"], "nc_matmul"),),
        tags=("operator", "tensor", "memory-bound"),
        implementations={"nki": "trnbench_kernels.nki.experts:expert_gemm"},
    )
