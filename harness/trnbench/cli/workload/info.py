"""`trnbench workload info`: one model in full, and where it fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from trnbench.cli.context import Session, session
from trnbench.cli.facts import facts_of, facts_option
from trnbench.cli.names import complete_instances
from trnbench.cli.output import Column, emit, emit_json, format_option, write
from trnbench.cli.workload.options import job_from, job_options, layout_from, layout_options
from trnbench.cli.workload.show import count, flop, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trnbench.workloads.division import Division
    from trnbench.workloads.model import Model

Row = dict[str, object]
Table = tuple[str, "Sequence[Column | str]", list[Row]]


@click.command("info")
@click.argument("model")
@click.option(
    "-i",
    "--instance",
    "instances",
    multiple=True,
    metavar="NAME",
    help="Name, alias or NAME:SIZE. Repeatable.  [default: every system of a run]",
    shell_complete=complete_instances,
)
@job_options
@layout_options
@facts_option
@format_option
@session
def info(
    state: Session, /, *, model: str, instances: tuple[str, ...], facts: Any, format: str, **options: Any
) -> None:
    """Show the parameters, operations and cache of MODEL: a name of `workload list`, or a config.json.

    With --task also the operations and the memory of a step on the ranks of a layout, and the systems that
    it fits on.
    """
    from trnbench.workloads.job import check_dtype
    from trnbench.workloads.shipped import load_model

    found = load_model(model)
    check_dtype(options["cache"], "--cache")
    tables = [_shape(found), _parameters(found), *_published(found), _tokens(found, options["cache"])]
    if options["task"]:
        tables += _step(state, found, instances, facts_of(state, facts), options)
    else:
        _refuse_alone(instances, options)
    _show(found, tables, format)


def _refuse_alone(instances: tuple[str, ...], options: dict[str, Any]) -> None:
    """Raises `UsageError` for options that say nothing without a task."""
    from trnbench.errors import UsageError

    given = [
        f"--{name.replace('_', '-')}"
        for name in ("tp", "pp", "dp", "cp", "ep", "kv", "sequence")
        if options[name]
    ]
    if instances or given:
        raise UsageError(
            f"{'--instance' if instances else given[0]} says nothing without --task",
            cause="what a rank holds depends on what is done",
            try_="--task decode --kv 4096",
        )


def _shape(model: Model) -> Table:
    from trnbench.workloads.attention import AttentionKind

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


def _parameters(model: Model) -> Table:
    from trnbench.workloads.parameters import parameters

    counted = parameters(model)
    rows: list[Row] = [
        {"part": str(part), "parameters": total, "active": counted.active[part]}
        for part, total in counted.total.items()
        if total
    ]
    rows.append({"part": "all", "parameters": counted.all, "active": counted.all_active})
    shown = [Column(key, align="right", show=count) for key in ("parameters", "active")]
    return "parameters", ("part", *shown), rows


def _published(model: Model) -> list[Table]:
    from trnbench.facts.format import percent
    from trnbench.workloads.parameters import parameters

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


def _tokens(model: Model, cache: str) -> Table:
    """What one token takes, after none and after many: the rates that do not depend on a layout."""
    from trnbench.workloads.cache import cache_bytes, cache_bytes_per_token
    from trnbench.workloads.flops import forward, training

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


def _step(
    state: Session, model: Model, instances: tuple[str, ...], facts: Any, options: dict[str, Any]
) -> list[Table]:
    from trnbench.workloads.division import divide

    division = divide(model, layout_from(options), job_from(options))
    return [_operations(division), *_memory(division), _systems(state, division, instances, facts)]


def _operations(division: Division) -> Table:
    from trnbench.workloads.flops import step_flops

    spent = step_flops(division.model, division.job)
    rows: list[Row] = [
        {"part": name, "flops": getattr(spent, name)}
        for name in spent.__struct_fields__
        if getattr(spent, name)
    ]
    rows.append({"part": "all", "flops": spent.all})
    return "operations", ("part", Column("flops", "FLOP of a step", "right", flop)), rows


def _memory(division: Division) -> list[Table]:
    from trnbench.workloads.memory import FORMULAS, memory

    stages = [memory(division, stage) for stage in range(division.layout.pp)]
    rows: list[Row] = [
        {"part": part, "bytes": max(getattr(each, part) for each in stages), "formula": FORMULAS[part]}
        for part in FORMULAS
        if any(getattr(each, part) for each in stages)
    ]
    rows.append({"part": "all", "bytes": max(each.all for each in stages), "formula": "of the fullest stage"})
    return [("memory", ("part", Column("bytes", "of the fullest rank", "right", size)), rows)]


def _systems(state: Session, division: Division, instances: tuple[str, ...], facts: Any) -> Table:
    from trnbench.errors import UsageError
    from trnbench.workloads.hbm import fit

    registry = state.registry
    names = instances or tuple(
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


def _show(model: Model, tables: list[Table], format: str) -> None:
    if format == "json":
        emit_json(
            {
                "name": model.name,
                "architecture": model.architecture,
                "kind": model.kind,
                "source": model.source,
                "left_out": model.left_out,
            }
            | {key: rows for key, _, rows in tables}
        )
        return
    if format == "csv":
        flat = [
            {"section": key, "row": number, "key": column, "value": value}
            for key, _, rows in tables
            for number, row in enumerate(rows)
            for column, value in row.items()
        ]
        emit(flat, ("section", "row", "key", "value"), "csv")
        return
    shape = f"{model.layers} layers of {model.hidden:,} features, {model.vocabulary:,} words"
    title = f"{model.name}: {model.kind}, {shape}"
    write(f"# {title}\n\n" if format == "md" else f"{title}\n\n")
    for key, columns, rows in tables:
        emit(rows, columns, format, title=key.capitalize())
        write("\n")
    for line in _remarks(model, tables):
        write(f"{line}\n")


def _remarks(model: Model, tables: list[Table]) -> list[str]:
    from trnbench.cli.output import clean

    made = [f"Not counted: {model.left_out}."] if model.left_out else []
    made += [
        f"{row['system']}: {row[key]}."
        for name, _, rows in tables
        if name == "systems"
        for row in rows
        for key in ("notes", "reason")
        if row.get(key)
    ]
    if model.source:
        made.append(f"Source: {model.source.document} {model.source.version}, {model.source.locator}.")
    return [clean(line) for line in made]
