"""`trnbench workload list`: the models that trnbench describes."""

from __future__ import annotations

import click

from trnbench.cli.context import Session, session
from trnbench.cli.output import Column, emit, format_option
from trnbench_steps.commands.workload.show import count


@click.command("list")
@format_option
@session
def list_(state: Session, format: str) -> None:
    """List the models that trnbench and plugins describe, with their parameters.

    A config.json of Hugging Face takes the place of a name wherever a model is asked for.
    """
    from trnbench_steps.parameters import parameters
    from trnbench_steps.shipped import model_of, shipped_names

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
