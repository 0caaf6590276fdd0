"""`trnbench workload run`: steps of a model on its layouts, as cases of a run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trnbench.bounded import kinds
from trnbench.cli.context import Session, no_cache_option, quiet_option, session
from trnbench.cli.facts import facts_of, facts_option
from trnbench.cli.number import NumberType
from trnbench.cli.output import format_option
from trnbench.cli.store_names import complete_run_tags
from trnbench_steps.commands.workload.options import (
    job_from,
    job_options,
    layout_from,
    layout_options,
    model_options,
)

if TYPE_CHECKING:
    from trnbench.run.selection import Selection
    from trnbench.run.settings import RunSettings


@click.command("run")
@model_options("Name, alias, glob or NAME:SIZE")
@job_options
@layout_options
@click.option(
    "-a",
    "--axis",
    "axes",
    multiple=True,
    metavar="NAME=VALUES",
    help="Sweep batch, kv, sequence, tp or another option: batch=1,4,16, 'kv[pow2]=10:14'.",
)
@click.option("--zip", "zips", multiple=True, metavar="A,B", help="These axes move together.")
@click.option("--exclude", "excludes", multiple=True, metavar="TERMS", help="Leave out points.")
@click.option(
    "--operator",
    "operators",
    multiple=True,
    metavar="NAME=KERNEL",
    help="Your NKI kernel in the step, beside ours: attention=kernel.py::flash.",
)
@facts_option
@click.option("--jobs", type=NumberType(kinds.JOBS), metavar="N", help="Processes; 0: as many as pay off.")
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="TAG",
    shell_complete=complete_run_tags,
    help="Tag the stored run; may be repeated.",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write a report of the run, too."
)
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="One layer and one step of the first case, for ui.perfetto.dev.",
)
@click.option("--force", is_flag=True, help="Overwrite FILE whatever it is.")
@no_cache_option
@quiet_option
@format_option
@session
def run(
    state: Session,
    /,
    *,
    model: str,
    facts: tuple[Path, ...],
    jobs: int | None,
    labels: tuple[str, ...],
    output: Path | None,
    trace: Path | None,
    force: bool,
    format: str,
    **options: Any,
) -> int:
    """Put together what a step of MODEL takes: a name of `workload list`, or a config.json.

    Each system and each point of the axes is a case of a run, which is kept like every other.
    """
    from trnbench.cli.carrying import carry_out
    from trnbench.cli.reporting import check_html, report_target
    from trnbench.cli.steadiness import Steadiness
    from trnbench.run.api import choose_backend
    from trnbench.run.plan import plan
    from trnbench.run.writing import check_writable
    from trnbench.store.path import check_named, store_path
    from trnbench_steps.commands.workload.told import tell_steps
    from trnbench_steps.commands.workload.tracing import write_step_trace

    target = output and report_target(output, force=force)
    if target is not None:
        check_html(state)
    if trace is not None:
        check_writable(trace, force=force, example="trace.json")
    settings = _settings(state, jobs, labels, facts_of(state, facts))
    check_named(store_path(state.store_path))
    selection = _selection(state, model, options)
    planned = plan(state.registry, selection, extra_facts=facts_of(state, facts))
    chosen = choose_backend(state.registry)
    ended = carry_out(state, planned, chosen, settings, None, Steadiness(0.0, False, False))
    code = tell_steps(state, planned, ended, target, format)
    if trace is not None:
        write_step_trace(planned, ended.run, trace)
    return code


def _selection(state: Session, model: str, options: dict[str, Any]) -> Selection:
    """Raises `UsageError` for what does not divide, where there is only one layout to divide by."""
    from trnbench.errors import UnknownName, UsageError
    from trnbench.run.axes import parse_sweep
    from trnbench.run.selection import Selection
    from trnbench_steps.asked import AXES, Asked
    from trnbench_steps.division import divide
    from trnbench_steps.own_kernels import OwnKernels, check_own
    from trnbench_steps.shipped import model_of, shipped_names

    if not options["task"]:
        raise UsageError(
            "--task is not given",
            cause="what a step takes depends on what is done",
            try_="--task decode --kv 4096, --task prefill --sequence 2048, or --task train --sequence 4096",
        )
    swept = tuple(dict.fromkeys(parse_sweep(typed).axis for typed in options["axes"]))
    for name in swept:
        if name not in AXES:
            raise UnknownName("axis", name, AXES, try_="-a batch=1,4,16")
    described = model_of(state.registry, model)
    job, layout = job_from(options), layout_from(options)
    own = OwnKernels(tuple(_operator(state, each) for each in options["operators"]))
    if not swept:
        check_own(own, divide(described, layout, job))
    asked = Asked.of(
        described, job, layout, swept=swept, operators=own.sources, shipped=model in shipped_names()
    )
    return Selection.of(
        instances=options["instances"],
        axes=options["axes"],
        zips=options["zips"],
        excludes=options["excludes"],
        workload=asked,
    )


def _operator(state: Session, typed: str) -> tuple[str, str]:
    """What it does and where it is, of a plugin's by its name.

    Raises `UsageError` for what names no kernel, and what loading one raises."""
    from trnbench.errors import UsageError
    from trnbench_emulator.nki.load import load_kernel

    name, equals, source = typed.partition("=")
    if not equals and name in state.registry.step_kernels:
        brought = state.registry.step_kernels[name]
        name, equals, source = brought.operator, "=", brought.kernel
    if not (name and equals and source):
        raise UsageError(
            f"--operator {typed!r} names no kernel",
            cause="it takes what the kernel does, and where it is",
            try_="--operator attention=kernel.py::flash",
        )
    load_kernel(source, nki="trnbench")
    return name, source


def _settings(
    state: Session, jobs: int | None, labels: tuple[str, ...], facts: tuple[Path, ...]
) -> RunSettings:
    from trnbench.facts.peak import as_policy
    from trnbench.run.settings import RunSettings
    from trnbench.store.tag import checked_tags

    configured = state.settings
    return RunSettings(
        policy=as_policy(configured.policy),
        jobs=configured.jobs if jobs is None else jobs,
        tags=checked_tags(labels),
        argv=tuple(sys.argv),
        facts=tuple(str(each.absolute()) for each in facts),
    ).checked()
