"""Operators of models: row-wise normalisations, attention, the selective scan, products of experts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from trnbench.kernels.kernel import (
    Axis,
    Kernel,
    Point,
    PrimaryMetric,
    PublishedAs,
    always,
    asks,
    read_back,
    renamed,
    word_axis,
)
from trnbench.kernels.work import (
    CORE_AND_SYSTEM,
    EVERY_SCOPE,
    PLAIN,
    Extent,
    Work,
    item_bytes,
    needs,
    per_core,
)


class Rowwise(msgspec.Struct, frozen=True):
    """Elementary operations per element by engine, and per row on the scalar engine."""

    title: str
    about: str
    vector: int
    scalar: int
    scalar_per_row: int
    weights: int  # vectors of one row's length read beside the rows
    instructions: tuple[str, ...]
    counted: str


ROWWISE = {
    "softmax": Rowwise(
        "Softmax over rows",
        "Exponentials between two passes of memory: which engine holds it back.",
        vector=3,
        scalar=2,
        scalar_per_row=1,
        weights=0,
        instructions=("tensor_reduce", "activation", "tensor_scalar"),
        counted="vector: maximum, sum, scale; scalar: subtract, exp, and a reciprocal per row",
    ),
    "layer_norm": Rowwise(
        "Layer norm over rows",
        "Mean and variance before the first result: memory bandwidth under a reduction.",
        vector=7,
        scalar=0,
        scalar_per_row=1,
        weights=2,
        instructions=("bn_stats", "bn_aggr", "tensor_scalar", "tensor_tensor"),
        counted="vector: sum, subtract, square, sum, scale, gamma, beta; scalar: one rsqrt per row",
    ),
    "rms_norm": Rowwise(
        "RMS norm over rows",
        "Layer norm without the mean: half the arithmetic on the same memory.",
        vector=4,
        scalar=0,
        scalar_per_row=1,
        weights=1,
        instructions=("tensor_reduce", "activation", "tensor_scalar", "tensor_tensor"),
        counted="vector: square, sum, scale, gamma; scalar: one rsqrt per row",
    ),
}


def _rowwise_memory(rule: Rowwise, point: Point) -> float:
    rows, columns = int(point["rows"]), int(point["columns"])
    return (2.0 * rows * columns + rule.weights * columns) * item_bytes(point["dtype"])


def _rowwise_work(rule: Rowwise) -> Callable[[Point, Extent], Work]:
    def work(point: Point, extent: Extent) -> Work:
        rows, columns = int(point["rows"]), int(point["columns"])
        item = item_bytes(point["dtype"])
        elements = float(rows * columns * extent.cores)
        flops = {
            "vector": rule.vector * elements,
            "scalar": rule.scalar * elements + rule.scalar_per_row * float(rows * extent.cores),
        }
        extra = f" + {rule.weights}·columns" if rule.weights else ""
        return Work(
            engine_flops=flops,
            bytes={"hbm": _rowwise_memory(rule, point) * extent.cores},
            formula=per_core(
                f"hbm_bytes = (2·rows·columns{extra})·{item:g} B; "
                f"per element {rule.vector} vector and {rule.scalar} scalar operations ({rule.counted})",
                extent,
            ),
        )

    return work


def _rowwise_footprint(rule: Rowwise) -> Callable[[Point, Extent], Mapping[str, float]]:
    return lambda point, _: {"hbm": _rowwise_memory(rule, point)}


def _rowwise_requires(rule: Rowwise) -> Callable[[Point], tuple[str, ...]]:
    return lambda point: (*needs(point["dtype"], *rule.instructions),)


_ROWWISE_AXES = {"rows": "rows", "columns": "columns"}


def normalisations() -> Iterator[Kernel]:
    """softmax, layer_norm, rms_norm."""
    for name, rule in ROWWISE.items():
        yield Kernel(
            name=name,
            family="normalisation",
            title=rule.title,
            about=rule.about,
            axes=(
                word_axis("dtype", "in and out", "bf16", "fp32", choices=PLAIN),
                Axis(name="rows", values=(4096,), about="rows, 128 at a time"),
                Axis(name="columns", values=(512, 2048, 8192), about="elements of a row"),
            ),
            scopes=EVERY_SCOPE,
            default_scopes=EVERY_SCOPE[:1],
            primary=PrimaryMetric(
                name="hbm_bytes_per_s", unit="B/s", count="hbm_bytes", peak="hbm_bandwidth"
            ),
            work=_rowwise_work(rule),
            footprint=_rowwise_footprint(rule),
            requires=_rowwise_requires(rule),
            tags=("operator", "memory-bound", "reduction"),
            implementations={"nki": f"trnbench_kernels.nki.rows:{name}"},
            published=PublishedAs(
                operation=always(name), sizes=renamed(_ROWWISE_AXES), point=read_back(_ROWWISE_AXES)
            ),
        )


def pairs(point: Point) -> float:
    """Query-key pairs of one head that count: all, or those not in the future."""
    seq = int(point["seq"])
    return seq * (seq + 1) / 2 if point["mask"] == "causal" else float(seq) * seq


def _attention_memory(point: Point) -> float:
    elements = 4.0 * int(point["seq"]) * int(point["head_dim"]) * int(point["heads"])
    return elements * item_bytes(point["dtype"])


def _attention_work(point: Point, extent: Extent) -> Work:
    many = int(point["heads"]) * extent.cores
    scored = pairs(point) * many
    shown = "seq·(seq+1)/2" if point["mask"] == "causal" else "seq²"
    return Work(
        flops=4.0 * scored * int(point["head_dim"]),
        engine_flops={"vector": 2 * scored, "scalar": 2 * scored},
        bytes={"hbm": _attention_memory(point) * extent.cores},
        formula=per_core(
            f"flops = 4·heads·head_dim·{shown} (Q·Kᵀ and P·V); "
            f"hbm_bytes = 4·heads·seq·head_dim·{item_bytes(point['dtype']):g} B (Q, K, V, O once); "
            "per score 2 vector (maximum, sum) and 2 scalar (scale and subtract, exp) operations",
            extent,
        ),
    )


def _attention_footprint(point: Point, _: Extent) -> Mapping[str, float]:
    return {"hbm": _attention_memory(point)}


_ATTENTION_AXES = {"seq": "seq", "d_head": "head_dim", "heads": "heads"}


def attention() -> Iterator[Kernel]:
    """attention."""
    yield Kernel(
        name="attention",
        family="attention",
        title="Attention, forward",
        about="Two matrix products around a softmax: tensor against scalar engine as sequences grow.",
        axes=(
            word_axis("dtype", "of Q, K, V and O", "bf16", choices=PLAIN),
            Axis(name="seq", values=(1024, 4096), wide=(4096,), about="queries and keys"),
            Axis(name="head_dim", values=(64, 128), wide=(128,), about="width of a head"),
            word_axis("mask", "all pairs, or keys up to the query", "full", "causal"),
            Axis(name="heads", values=(8,), about="batch times heads, for each core"),
        ),
        scopes=EVERY_SCOPE,
        default_scopes=CORE_AND_SYSTEM,
        primary=PrimaryMetric(name="flops_per_s", unit="FLOP/s", count="flops", peak="peak_flops"),
        work=_attention_work,
        footprint=_attention_footprint,
        requires=asks("nc_matmul", "tensor_reduce", "activation"),
        tags=("operator", "compute", "tensor"),
        implementations={"nki": "trnbench_kernels.nki.attention:attention"},
        published=PublishedAs(
            operation=always("attention"),
            sizes=renamed(_ATTENTION_AXES),
            point=read_back(_ATTENTION_AXES, mask="full"),
        ),
    )


def _scan_memory(point: Point) -> float:
    channels, tokens, states = (int(point[name]) for name in ("channels", "tokens", "states"))
    return (3 * channels * tokens + channels * states + 2 * states * tokens) * item_bytes(point["dtype"])


def _scan_work(point: Point, extent: Extent) -> Work:
    channels, tokens, states = (float(int(point[name])) for name in ("channels", "tokens", "states"))
    steps = channels * tokens * states * extent.cores
    return Work(
        engine_flops={
            "vector": 2 * steps + channels * tokens * extent.cores,
            "gpsimd": 3 * steps,
            "scalar": 2 * steps,
        },
        bytes={"hbm": _scan_memory(point) * extent.cores},
        formula=per_core(
            "per channel, token and state 2 vector (the recurrence), 3 gpsimd (δ·u·B, ·C, sum) and 2 scalar "
            "operations (δ·A, exp), per channel and token one more vector (δ·u); "
            "hbm_bytes = (3·channels·tokens + "
            f"channels·states + 2·states·tokens)·{item_bytes(point['dtype']):g} B, each array once",
            extent,
        ),
    )


def _scan_footprint(point: Point, _: Extent) -> Mapping[str, float]:
    return {"hbm": _scan_memory(point)}


def _scan_valid(point: Point) -> str:
    return "" if int(point["channels"]) % 128 == 0 else "channels come in groups of 128 partitions"


_SCAN_AXES = {"channels": "channels", "seq": "tokens", "state": "states"}


def scans() -> Iterator[Kernel]:
    """selective_scan."""
    yield Kernel(
        name="selective_scan",
        family="scan",
        title="Selective scan",
        about="The recurrence of a state-space model: a chain of tokens that no matrix product takes over.",
        axes=(
            word_axis("dtype", "of all arrays", "fp32", choices=("fp32", "bf16")),
            Axis(name="channels", values=(256,), about="128 at a time, one on each partition"),
            Axis(name="tokens", values=(512, 2048), about="length of the recurrence"),
            Axis(name="states", values=(16,), about="states of each channel"),
        ),
        scopes=EVERY_SCOPE,
        default_scopes=EVERY_SCOPE[:1],
        primary=PrimaryMetric(
            name="vector_flops_per_s",
            unit="FLOP/s",
            count="vector_flops",
            peak="peak_flops",
            qualifier="vector",
        ),
        work=_scan_work,
        footprint=_scan_footprint,
        requires=asks("tensor_tensor_scan", "activation", "tensor_tensor", "dma_copy"),
        valid=_scan_valid,
        tags=("operator", "vector", "recurrence"),
        implementations={"nki": "trnbench_kernels.nki.scan:selective_scan"},
        published=PublishedAs(
            operation=always("mamba"), sizes=renamed(_SCAN_AXES), point=read_back(_SCAN_AXES)
        ),
    )


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


def experts() -> Iterator[Kernel]:
    """moe_experts."""
    yield Kernel(
        name="moe_experts",
        family="moe",
        title="Expert products",
        about="Each expert's weights times the tokens sent to it: few tokens make it a matter of memory.",
        axes=(
            word_axis("dtype", "in and out", "bf16", choices=("bf16", "fp16")),
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
        requires=asks("nc_matmul"),
        tags=("operator", "tensor", "memory-bound"),
        implementations={"nki": "trnbench_kernels.nki.experts:expert_gemm"},
    )
