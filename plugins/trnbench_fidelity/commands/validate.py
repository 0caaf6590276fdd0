"""`trnbench validate`: how far the emulator is from published measurements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trnbench.bounded import kinds
from trnbench.cli.context import Session, no_cache_option, session
from trnbench.cli.names import complete_generations, complete_instances
from trnbench.cli.number import NumberType
from trnbench.cli.output import format_option, say
from trnbench.errors import ExitCode, MissingFile, NothingSelected, UnknownName, UsageError
from trnbench_emulator.commands.nki.apart import apart
from trnbench_fidelity.commands.own_products import show_own_products

if TYPE_CHECKING:
    from trnbench.registry import Registry

TABLES = ("points", "bounds", "sequences", "moved")
WORKLOADS = "workloads"
"""Steps of whole models: no family of kernels, with an errors table of its own."""


@click.command("validate")
@click.option("--family", "families", multiple=True, metavar="NAME", help="Only this family. Repeatable.")
@click.option(
    "-i",
    "--instance",
    "instances",
    multiple=True,
    metavar="NAME",
    help="Only points of this system. Repeatable.",
    shell_complete=complete_instances,
)
@click.option(
    "--generation",
    "generations",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_generations,
    help="Only points of this one.",
)
@click.option(
    "--kernels",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Folder of public kernel sources; those that points name are run anew.",
)
@click.option(
    "--sources", is_flag=True, help="Only the points measured with a public kernel; needs --kernels."
)
@click.option(
    "--assume",
    "assume",
    multiple=True,
    metavar="no-NAME[,…]",
    help="What the compiler of public kernels is not taken to do, as of trnbench nki run. Repeatable.",
)
@click.option("--points", "table", flag_value="points", help="One row per point instead.")
@click.option("--bounds", "table", flag_value="bounds", help="The broken inequalities instead.")
@click.option(
    "--sequences", "table", flag_value="sequences", help="The steps of published sequences instead."
)
@click.option(
    "--moved", "table", flag_value="moved", help="How points moved that were untouched before instead."
)
@click.option(
    "--same",
    "own",
    is_flag=True,
    help="Our own product beside the best published one of each shape, instead: two programs, never counted.",
)
@click.option(
    "--max-median",
    "medians",
    multiple=True,
    metavar="FAMILY=12%",
    help="Exit with 1 when a generation's median error of a family is larger. Repeatable.",
)
@click.option(
    "--max-p90",
    "p90s",
    multiple=True,
    metavar="FAMILY=45%",
    help="The same of the 90th percentile. Repeatable.",
)
@click.option(
    "--max-broken",
    "most_broken",
    type=NumberType(kinds.BROKEN),
    metavar="COUNT",
    help="Exit with 1 when the model breaks more published inequalities.",
)
@no_cache_option
@format_option
@session
@apart
def validate(
    state: Session,
    families: tuple[str, ...],
    instances: tuple[str, ...],
    generations: tuple[str, ...],
    kernels: Path | None,
    sources: bool,
    assume: tuple[str, ...],
    own: bool,
    table: str | None,
    medians: tuple[str, ...],
    p90s: tuple[str, ...],
    most_broken: int | None,
    format: str,
) -> ExitCode:
    """Emulate published measurements as stated: broken inequalities first, then errors, worst first.

    Errors are of the time, ln(model / published), printed as per cent of it: 15 % is a factor of 1.15.
    Each kernel has one vote, |error| averaged over its points; one row per family and generation, with what
    the model was fitted on, shaped by and never touched. Kernels run from public sources are counted as
    the plugins keep them; --kernels runs them anew. A family of the limits may be `public`: all of those.

    --family workloads composes published steps of whole models instead: errors by task, generation and kind
    of model, with each model left out of the fit of the constants; its limits are of decode, prefill and
    train.
    """
    from trnbench_emulator.compiler import assumptions
    from trnbench_fidelity.commands import fidelity_gates, fidelity_tables
    from trnbench_fidelity.remembered import remembered
    from trnbench_fidelity.validate import validate as hold

    registry = state.registry
    steps = WORKLOADS in families
    _check_names(registry, () if steps else families, generations)
    if own:
        of_points = families or instances or kernels or sources or assume or table
        if of_points or medians or p90s or most_broken is not None:
            raise UsageError(
                "--same goes with --generation and --format alone",
                cause="it compares products of ours with published ones, which no other option is about",
                try_="trnbench validate --same --generation trn2",
            )
        if not show_own_products(registry, generations, format):
            raise NothingSelected(
                "no product is published of the selected generations",
                cause=_why_empty(registry, generations),
                try_="trnbench validate --same: of all generations",
            )
        return ExitCode.OK
    gates = fidelity_gates.parsed(medians, p90s, most_broken, steps=steps)
    # An alias becomes the name; a size stays, and without one every size is meant.
    systems = {"".join((registry.instance(each)[1].name, *each.partition(":")[1:])) for each in instances}
    if steps:
        from trnbench_fidelity.commands import validate_steps

        given = {"--kernels": kernels, "--sources": sources, "--assume": assume, "--max-broken": most_broken}
        given |= {f"--{table}": table not in (None, "points"), "another --family": len(set(families)) > 1}
        validate_steps.refuse([name for name, value in given.items() if value not in (None, False, ())])
        return validate_steps.validate_steps(
            state, generations, frozenset(systems), table == "points", gates, format
        )
    if kernels is not None and not kernels.is_dir():
        raise MissingFile(
            f"--kernels: {kernels} is no folder",
            cause="it is a file" if kernels.exists() else "it does not exist",
            try_="the folder into which the public sources were fetched",
        )
    if sources and kernels is None:
        raise UsageError("--sources goes with --kernels PATH", try_="the folder with the public sources")
    assumed = assumptions(assume)
    if assume and kernels is None:
        raise UsageError("--assume goes with --kernels PATH", try_="the folder with the public sources")
    if kernels is None:
        fidelity = remembered(
            registry, state.cache(), families=families, generations=generations, systems=systems
        )
    else:
        fidelity = hold(
            registry,
            families=families,
            generations=generations,
            systems=systems,
            kernels=kernels,
            with_same=not sources,
            sources=sources,
            assumptions=assumed,
        )
    if not fidelity.points:
        raise NothingSelected(
            "no published point is selected",
            cause=_why_empty(registry, generations),
            try_="trnbench validate --points: all there are",
        )
    if table is not None:
        fidelity_tables.show_table(table, fidelity, format)
    elif sources and kernels is not None and format in ("md", "json"):
        fidelity_tables.show_sources(fidelity, kernels, format, str(assumed))
    else:
        fidelity_tables.show(fidelity, format)
        if sources and format == "table":
            fidelity_tables.show_not_run(fidelity)
    for note in fidelity.notes:
        say(note)
    return fidelity_gates.judge(fidelity, gates)


def _check_names(registry: Registry, families: Iterable[str], generations: Iterable[str]) -> None:
    from trnbench_fidelity.family import FAMILIES

    for name in families:
        if name not in FAMILIES:
            raise UnknownName("family", name, (*FAMILIES, WORKLOADS), try_="trnbench validate: every family")
    for name in generations:
        if name not in registry.generations:
            raise UnknownName("generation", name, registry.generations, try_="trnbench list generations")


def _why_empty(registry: Registry, generations: Sequence[str]) -> str:
    from trnbench_fidelity.published import published_points

    if not published_points(registry, generations):
        names = ", ".join(generations) or "no installed generation"
        return f"{names} brings no published measurements"
    return "the options exclude every point"
