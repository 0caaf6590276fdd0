"""`trnbench workload info`: one model in full, and where it fits."""

from __future__ import annotations

from typing import Any

from trnbench import Session, UsageError
from trnbench.terminal.cell import Column
from trnbench.terminal.output import Section, emit, emit_sections, paragraph
from trnbench_steps.commands.workload.options import job_from, layout_from, typed_of, types_from
from trnbench_steps.commands.workload.tables import (
    count,
    memory_table,
    operation_table,
    parameter_table,
    published_tables,
    shape_table,
    system_table,
    token_table,
)
from trnbench_steps.division import divide
from trnbench_steps.job import check_dtype
from trnbench_steps.model import Model, parameters
from trnbench_steps.shipped_models import model_of, shipped_names


def info(
    state: Session, /, *, model: str, instances: tuple[str, ...], facts: Any, format: str, **options: Any
) -> None:
    """Show the parameters, operations and cache of MODEL: a name of `workload list`, or a config.json."""
    described = model_of(state.registry, model)
    cache = types_from(options["types"])["cache"]
    check_dtype(cache, "cache")
    tables = [
        shape_table(described),
        parameter_table(described),
        *published_tables(described),
        token_table(described, cache),
    ]
    if options["task"]:
        division = divide(described, layout_from(options), job_from(options, described))
        tables += [
            operation_table(division),
            memory_table(division),
            system_table(state, division, instances, state.facts_of(facts)),
        ]
    else:
        _refuse_alone(instances, options)
    about = {key: getattr(described, key) for key in ("name", "architecture", "kind", "source", "left_out")}
    shape = f"{described.layers} layers of {described.hidden:,} features, {described.vocabulary:,} words"
    emit_sections(about, f"{described.name}: {described.kind}, {shape}", tables, format)
    if format not in ("json", "csv"):
        for line in _remarks(described, tables):
            paragraph(line)


def _refuse_alone(instances: tuple[str, ...], options: dict[str, Any]) -> None:
    """Raises `UsageError` for options that say nothing without a task."""
    given = [typed for name, typed in typed_of(options).items() if name != "cache"]
    if instances or given:
        raise UsageError(
            f"{'--instance' if instances else given[0]} says nothing without --task",
            cause="what a rank holds depends on what is done",
            try_="--task decode --kv 4096",
        )


def _remarks(model: Model, tables: list[Section]) -> list[str]:
    remarks = [f"Not counted: {model.left_out}."] if model.left_out else []
    remarks += [
        f"{row['system']}: {row[key]}."
        for name, _, rows in tables
        if name == "systems"
        for row in rows
        for key in ("notes", "reason")
        if row.get(key)
    ]
    if model.source:
        remarks.append(f"Source: {model.source.document} {model.source.version}, {model.source.locator}.")
    return remarks


def list_(state: Session, format: str) -> None:
    """List the models that trnbench and plugins describe, with their parameters."""
    rows: list[dict[str, object]] = []
    registry = state.registry
    for name in dict.fromkeys((*shipped_names(), *registry.models)):
        model = model_of(registry, name)
        counted = parameters(model)
        rows.append(
            {
                "model": name,
                "kind": model.kind,
                "architecture": model.architecture,
                "parameters": counted.all,
                "active": counted.all_active,
                "layers": model.layers,
                "hidden": model.hidden,
                "vocabulary": model.vocabulary,
                "source": model.source.document if model.source else "",
            }
        )
    columns = (
        "model",
        "kind",
        "architecture",
        Column("parameters", align="right", show=count),
        Column("active", align="right", show=count),
        "layers",
        "hidden",
        "vocabulary",
    )
    emit(rows, columns, format)
