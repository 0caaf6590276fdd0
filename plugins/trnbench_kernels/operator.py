"""Operators of models: row-wise normalisations, attention, the selective scan, products of experts."""

from __future__ import annotations

import math
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
from trnbench.kernels.split import Shard, Split, along, grid, shares, too_few
from trnbench.kernels.work import (
    EVERY_SCOPE,
    PLAIN,
    Extent,
    Work,
    item_bytes,
    needs,
    per_core,
)

PARTITIONS = 128


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


def _by_rows(point: Point, cores: int) -> Split:
    """Each core reads the weights beside its rows."""
    return along("rows", point, cores, PARTITIONS, f"{point['rows']:,} rows")


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
            split=_by_rows,
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
    seq, queries = int(point["seq"]), int(point.get("queries", point["seq"]))
    if point["mask"] != "causal":
        return float(queries) * seq
    if queries == seq:
        return seq * (seq + 1) / 2
    # Of each block of queries the keys before it, and its own up to the diagonal.
    blocks = range(queries // PARTITIONS)
    before = sum(int(point["first"]) + block * int(point["every"]) for block in blocks) * PARTITIONS**2
    return before + len(blocks) * PARTITIONS * (PARTITIONS + 1) / 2


def _attention_memory(point: Point) -> float:
    seq = int(point["seq"])
    rows = 2.0 * (int(point.get("queries", seq)) + seq)
    return rows * int(point["head_dim"]) * int(point["heads"]) * item_bytes(point["dtype"])


def _attention_split(point: Point, cores: int) -> Split:
    """Heads, and where there are fewer than cores also blocks of 128 queries, dealt to its cores in turn.

    So each core of a head has early and late blocks, which under a causal mask meet few keys and many. All
    keys and values of a head are read by each of them.
    """
    heads, seq = int(point["heads"]), int(point["seq"])
    blocks = seq // PARTITIONS

    def cost(groups: int, dealt: int) -> tuple[int, int] | None:
        if groups > heads or dealt > max(blocks, 1):
            return None
        return shares(heads, groups)[0][0] * -(-blocks // dealt), dealt

    best = grid(cores, cost)
    if best is None:
        return Split(refusal=too_few(f"{heads:,} heads of {blocks:,} blocks of {PARTITIONS} queries", cores))
    groups, dealt = best
    if dealt == 1:
        return along("heads", point, cores, 1, f"{heads:,} heads")
    shards = [
        Shard(
            point={
                **point,
                "heads": some,
                "queries": len(range(first, blocks, dealt)) * PARTITIONS,
                "first": first,
                "every": dealt,
            },
            cores=times,
        )
        for some, times in shares(heads, groups)
        for first in range(dealt)
    ]
    shards.sort(key=lambda shard: -int(shard.point["heads"]) * pairs(shard.point))
    how = f"{heads:,} heads in {groups:,} parts, queries of each block by block to {dealt:,} cores"
    return Split(shards=tuple(shards), how=how)


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


def _attention_sizes(point: Point) -> Mapping[str, float]:
    """A share of the queries is a smaller problem: as published ones have as many queries as keys, so many
    of both that the pairs are as many."""
    sizes = renamed(_ATTENTION_AXES)(point)
    queries = float(point.get("queries", point["seq"]))
    return {**sizes, "seq": math.sqrt(queries * sizes["seq"])}


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
            Axis(name="heads", values=(8,), about="batch times heads"),
        ),
        scopes=EVERY_SCOPE,
        default_scopes=EVERY_SCOPE,
        primary=PrimaryMetric(name="flops_per_s", unit="FLOP/s", count="flops", peak="peak_flops"),
        work=_attention_work,
        split=_attention_split,
        footprint=_attention_footprint,
        requires=asks("nc_matmul", "tensor_reduce", "activation"),
        tags=("operator", "compute", "tensor"),
        implementations={"nki": "trnbench_kernels.nki.attention:attention"},
        published=PublishedAs(
            operation=always("attention"),
            sizes=_attention_sizes,
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


def _scan_split(point: Point, cores: int) -> Split:
    """Groups of 128 channels; B and C of all tokens are read by each core."""
    groups = int(point["channels"]) // PARTITIONS
    if groups < cores:
        return Split(refusal=too_few(f"{groups:,} groups of {PARTITIONS} channels", cores))
    return along("channels", point, cores, PARTITIONS, f"{groups:,} groups of {PARTITIONS} channels")


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
        split=_scan_split,
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


def _expert_split(point: Point, cores: int) -> Split:
    """Experts, and where there are fewer than cores also columns of their weights."""
    experts, _, _, columns = _expert_sizes(point)

    def cost(groups: int, across: int) -> tuple[int, int] | None:
        if groups > experts or across > columns // PARTITIONS:
            return None
        return shares(experts, groups)[0][0] * shares(columns, across, PARTITIONS)[0][0], across

    best = grid(cores, cost)
    if best is None:
        blocks = columns // PARTITIONS
        return Split(
            refusal=too_few(f"{experts:,} experts with {blocks:,} blocks of {PARTITIONS} columns", cores)
        )
    groups, across = best
    return Split(
        shards=tuple(
            Shard(point={**point, "experts": some, "columns": wide}, cores=times * again)
            for some, times in shares(experts, groups)
            for wide, again in shares(columns, across, PARTITIONS)
        ),
        how=f"experts in {groups:,} parts, columns of their weights in {across:,}",
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
            Axis(name="experts", values=(8,), about="experts"),
            Axis(name="tokens", values=(16, 128, 512), about="tokens of each expert"),
            Axis(name="hidden", values=(2048,), about="width of a token"),
            Axis(name="columns", values=(2048,), about="columns of an expert's weights"),
        ),
        scopes=EVERY_SCOPE,
        default_scopes=EVERY_SCOPE[:1],
        primary=PrimaryMetric(name="flops_per_s", unit="FLOP/s", count="flops", peak="peak_flops"),
        work=_expert_work,
        split=_expert_split,
        footprint=lambda point, _: {"hbm": _expert_memory(point)},
        requires=asks("nc_matmul"),
        tags=("operator", "tensor", "memory-bound"),
        implementations={"nki": "trnbench_kernels.nki.experts:expert_gemm"},
    )
