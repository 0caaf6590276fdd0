"""What a model is, whatever is done with it: layers, parameters, operations and cache of a token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnbench.cli.output import Column
from trnbench.cli.sections import Row, Section
from trnbench_steps.commands.workload.show import count, flop, size

if TYPE_CHECKING:
    from trnbench_steps.model import Model


def shape_table(model: Model) -> Section:
    """Its kinds of layers, with how many there are of each."""
    from trnbench_steps.attention import AttentionKind

    rows: list[Row] = []
    for layer, layers in model.runs():
        attention, network = layer.attention, layer.feed_forward
        rows.append(
            {
                "layers": layers,
                "attention": str(attention.kind) + (f" of {attention.window:,}" if attention.window else ""),
                "heads": attention.heads,
                "kv_heads": None if attention.kind is AttentionKind.LATENT else attention.kv_heads,
                "head_dim": attention.head_dim + attention.rope_dim,
                "network": network.width or None,
                "experts": f"{network.top_k} of {network.experts}" if network.experts else None,
                "expert": network.expert_width or None,
            }
        )
    return "layers", tuple(rows[0]), rows


def parameter_table(model: Model) -> Section:
    """Parameters by part, and those that one token meets."""
    from trnbench_steps.parameters import parameters

    counted = parameters(model)
    rows: list[Row] = [
        {"part": str(part), "parameters": total, "active": counted.active[part]}
        for part, total in counted.total.items()
        if total
    ]
    rows.append({"part": "all", "parameters": counted.all, "active": counted.all_active})
    shown = [Column(key, align="right", show=count) for key in ("parameters", "active")]
    return "parameters", ("part", *shown), rows


def published_tables(model: Model) -> list[Section]:
    """What others counted, and by how much ours differs; none where nobody did."""
    from trnbench.facts.format import percent
    from trnbench_steps.parameters import parameters

    ours = parameters(model)
    rows: list[Row] = [
        {
            "counted": "active" if active else "parameters",
            "published": value,
            "difference": (ours.all_active if active else ours.all) / value - 1,
            "document": f"{each.document} {each.version}".strip(),
            "locator": each.locator,
            "note": each.note,
        }
        for each in model.published
        for active, value in ((False, each.parameters), (True, each.active))
        if value
    ]
    columns = (
        "counted",
        Column("published", align="right", show=count),
        Column("difference", align="right", show=percent),
        "document",
    )
    return [("published", columns, rows)] if rows else []


def token_table(model: Model, cache: str) -> Section:
    """What one token takes, after none and after many: the rates that do not depend on a layout."""
    from trnbench_steps.cache import cache_bytes, cache_bytes_per_token
    from trnbench_steps.flops import forward, training

    rows: list[Row] = [
        {
            "length": length,
            "prefill": forward(model, length).all / length,
            "training": training(model, length).all / length,
        }
        for length in (128, 2048, 8192)
    ]
    if not model.encoder:
        for row, length in zip(rows, (128, 2048, 8192), strict=True):
            row["decode"] = forward(model, 1, length - 1).all
            row["cache"] = cache_bytes(model, length, cache)
            row["cache_growth"] = cache_bytes_per_token(model, cache)
    columns: list[Column | str] = [Column("length", "tokens", "right")]
    columns += [
        Column(key, f"{key} FLOP a token", "right", flop)
        for key in ("prefill", "decode", "training")
        if key in rows[0]
    ]
    if not model.encoder:
        columns.append(Column("cache", f"cache of a sequence, {cache}", "right", size))
    return "tokens", columns, rows
