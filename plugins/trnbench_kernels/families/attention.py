"""Scaled dot-product attention, forward, without keeping the scores in device memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trnbench.kernels.axis import Axis
from trnbench.kernels.dtype import PLAIN, item_bytes, needs
from trnbench.kernels.extent import Extent
from trnbench.kernels.kernel import Kernel, Point, PrimaryMetric
from trnbench.kernels.published import PublishedAs, always, read_back, renamed
from trnbench.kernels.sweep import CORE_AND_SYSTEM, EVERY_SCOPE, per_core
from trnbench.kernels.work import Work


def pairs(point: Point) -> float:
    """Query-key pairs of one head that count: all, or those not in the future."""
    seq = int(point["seq"])
    return seq * (seq + 1) / 2 if point["mask"] == "causal" else float(seq) * seq


def _memory(point: Point) -> float:
    elements = 4.0 * int(point["seq"]) * int(point["head_dim"]) * int(point["heads"])
    return elements * item_bytes(point["dtype"])


def _work(point: Point, extent: Extent) -> Work:
    many = int(point["heads"]) * extent.cores
    scored = pairs(point) * many
    shown = "seq·(seq+1)/2" if point["mask"] == "causal" else "seq²"
    return Work(
        flops=4.0 * scored * int(point["head_dim"]),
        engine_flops={"vector": 2 * scored, "scalar": 2 * scored},
        bytes={"hbm": _memory(point) * extent.cores},
        formula=per_core(
            f"flops = 4·heads·head_dim·{shown} (Q·Kᵀ and P·V); "
            f"hbm_bytes = 4·heads·seq·head_dim·{item_bytes(point['dtype']):g} B (Q, K, V, O once); "
            "per score 2 vector (maximum, sum) and 2 scalar (scale and subtract, exp) operations",
            extent,
        ),
    )


def _footprint(point: Point, _: Extent) -> Mapping[str, float]:
    return {"hbm": _memory(point)}


_AXES = {"seq": "seq", "d_head": "head_dim", "heads": "heads"}


def kernels() -> Iterator[Kernel]:
    """attention."""
    yield Kernel(
        name="attention",
        family="attention",
        title="Attention, forward",
        about="Two matrix products around a softmax: tensor against scalar engine as sequences grow.",
        axes=(
            Axis(name="dtype", kind="str", values=("bf16",), choices=PLAIN, about="of Q, K, V and O"),
            Axis(name="seq", values=(1024, 4096), wide=(4096,), about="queries and keys"),
            Axis(name="head_dim", values=(64, 128), wide=(128,), about="width of a head"),
            Axis(
                name="mask",
                kind="str",
                values=("full", "causal"),
                choices=("full", "causal"),
                about="all pairs, or keys up to the query",
            ),
            Axis(name="heads", values=(8,), about="batch times heads, for each core"),
        ),
        scopes=EVERY_SCOPE,
        default_scopes=CORE_AND_SYSTEM,
        primary=PrimaryMetric(name="flops_per_s", unit="FLOP/s", count="flops", peak="peak_flops"),
        work=_work,
        footprint=_footprint,
        requires=lambda point: (*needs(point["dtype"], "nc_matmul", "tensor_reduce", "activation"),),
        tags=("operator", "compute", "tensor"),
        implementations={"nki": "trnbench_kernels.nki.attention:attention"},
        published=PublishedAs(
            operation=always("attention"), sizes=renamed(_AXES), point=read_back(_AXES, mask="full")
        ),
    )
