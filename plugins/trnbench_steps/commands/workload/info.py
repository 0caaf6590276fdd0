"""`trnbench workload info`: one model in full, and where it fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from trnbench.cli.context import Session, session
from trnbench.cli.facts import facts_of, facts_option
from trnbench.cli.output import format_option, paragraph
from trnbench.cli.sections import Section, emit_sections
from trnbench_steps.commands.workload.model_tables import (
    parameter_table,
    published_tables,
    shape_table,
    token_table,
)
from trnbench_steps.commands.workload.options import (
    job_from,
    job_options,
    layout_from,
    layout_options,
    model_options,
)
from trnbench_steps.commands.workload.step_tables import memory_table, operation_table, system_table

if TYPE_CHECKING:
    from trnbench_steps.model import Model


@click.command("info")
@model_options()
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
    from trnbench_steps.job import check_dtype
    from trnbench_steps.shipped import model_of

    described = model_of(state.registry, model)
    check_dtype(options["cache"], "--cache")
    tables = [
        shape_table(described),
        parameter_table(described),
        *published_tables(described),
        token_table(described, options["cache"]),
    ]
    if options["task"]:
        tables += _step(state, described, instances, facts_of(state, facts), options)
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


def _step(
    state: Session, model: Model, instances: tuple[str, ...], facts: Any, options: dict[str, Any]
) -> list[Section]:
    from trnbench_steps.division import divide

    division = divide(model, layout_from(options), job_from(options))
    return [
        operation_table(division),
        memory_table(division),
        system_table(state, division, instances, facts),
    ]


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
