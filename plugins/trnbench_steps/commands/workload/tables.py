"""What a model is, whatever is done with it: layers, parameters, operations and cache of a token."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from trnbench.errors import UsageError
from trnbench.facts.units import percent, round_to, show
from trnbench.terminal.cell import Column
from trnbench.terminal.output import Row, Section
from trnbench_steps.attention import AttentionKind
from trnbench_steps.division import Division
from trnbench_steps.flops import forward, step_flops, training
from trnbench_steps.hbm import FORMULAS, cache_bytes, cache_bytes_per_token, fit, memory
from trnbench_steps.model import Model, parameters

if TYPE_CHECKING:
    from trnbench import Session


def count(value: Any) -> str:
    """Three digits and K, M, B or T, as model cards write parameters: 8.03B."""
    for unit, scale in (("T", 1e12), ("B", 1e9), ("M", 1e6), ("K", 1e3)):
        if round_to(value / scale, 3) >= 1:
            return f"{value / scale:,.3g}{unit}"
    return f"{value:,}"


def flop(value: Any) -> str:
    """Three digits and a decimal prefix: 16.1 GFLOP."""
    return show(float(value), "FLOP/s").removesuffix("S")


def size(value: Any) -> str:
    """Three digits and a binary prefix: 128 KiB."""
    return show(float(value), "B")


seconds = partial(show, unit="s")
"""Three digits and a prefix: 1.42 ms."""


def shape_table(model: Model) -> Section:
    """Its kinds of layers, with how many there are of each."""
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
    rows: list[Row] = []
    for length in (128, 2048, 8192):
        row: Row = {
            "length": length,
            "prefill": forward(model, length, predicted=1).all / length,
            "training": training(model, length).all / length,
        }
        if not model.encoder:
            row["decode"] = forward(model, 1, length - 1).all
            row["cache"] = cache_bytes(model, length, cache)
            row["cache_growth"] = cache_bytes_per_token(model, cache)
        rows.append(row)
    columns: list[Column | str] = [Column("length", "tokens", "right")]
    columns += [
        Column(key, f"{key} FLOP a token", "right", flop)
        for key in ("prefill", "decode", "training")
        if key in rows[0]
    ]
    if not model.encoder:
        columns.append(Column("cache", f"cache of a sequence, {cache}", "right", size))
    return "tokens", columns, rows


def operation_table(division: Division) -> Section:
    """FLOP of a step on all ranks together."""
    spent = step_flops(division.model, division.job)
    rows: list[Row] = [
        {"part": name, "flops": getattr(spent, name)}
        for name in spent.__struct_fields__
        if getattr(spent, name)
    ]
    rows.append({"part": "all", "flops": spent.all})
    return "operations", ("part", Column("flops", "FLOP of a step", "right", flop)), rows


def memory_table(division: Division) -> Section:
    """Bytes of a rank of the fullest stage, part by part."""
    fullest = max((memory(division, stage) for stage in range(division.layout.pp)), key=lambda each: each.all)
    rows: list[Row] = [
        {"part": part, "bytes": getattr(fullest, part), "formula": FORMULAS[part]}
        for part in FORMULAS
        if getattr(fullest, part)
    ]
    rows.append({"part": "all", "bytes": fullest.all, "formula": "of the fullest stage"})
    return "memory", ("part", Column("bytes", "of the fullest rank", "right", size)), rows


def system_table(state: Session, division: Division, instances: tuple[str, ...], facts: Any) -> Section:
    """Where it fits, and where not; of several systems, one that cannot hold the ranks says why.

    Raises `UsageError` where the only system cannot.
    """
    registry = state.registry
    names = instances or registry.readable(
        name for name in registry.instance_names() if registry.instance(name)[1].default
    )
    rows: list[Row] = []
    for name in names:
        system = registry.system(name, facts)
        try:
            lies = fit(division, system)
        except UsageError as error:
            if len(names) == 1:
                raise
            rows.append(
                {
                    "system": system.name,
                    "fits": None,
                    "verdict": f"refused: {error.what}",
                    "reason": error.cause,
                }
            )
            continue
        rows.append(
            {
                "system": system.name,
                "fits": lies.fits,
                "used": lies.used,
                "capacity": lies.capacity,
                "verdict": lies.verdict,
                "notes": "; ".join(lies.notes),
                "source": lies.capacity_source,
            }
        )
    columns = (
        "system",
        Column("used", "fullest device", "right", size),
        Column("capacity", "HBM of a device", "right", size),
        "verdict",
    )
    return "systems", columns, rows
