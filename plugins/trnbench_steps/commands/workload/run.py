"""`trnbench workload run`: steps of a model on its layouts, as cases of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trnbench import Session, UnknownName, UsageError
from trnbench.run.api import choose_backend
from trnbench.run.axes import parse_sweep
from trnbench.run.plan import plan
from trnbench.run.selection import Selection
from trnbench.store.path import check_named, store_path
from trnbench.terminal.execution import Steadiness, carry_out
from trnbench.terminal.request import settings_of
from trnbench.terminal.target import check_html, check_timeline, report_target
from trnbench_steps.commands.workload.options import (
    job_from,
    layout_from,
    refuse_idle,
    refuse_idle_paths,
)
from trnbench_steps.commands.workload.step_results import tell_steps
from trnbench_steps.division import divide
from trnbench_steps.job import Task
from trnbench_steps.own_kernels import OwnKernels, check_own
from trnbench_steps.shipped_models import model_of, shipped_names
from trnbench_steps.step_request import AXES, StepRequest


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
    explain: bool,
    format: str,
    **options: Any,
) -> int:
    """Put together what a step of MODEL takes: a name of `workload list`, or a config.json."""
    target = output and report_target(output, force=force)
    if target is not None:
        check_html(state)
    if trace is not None:
        check_timeline(trace, force=force, option="--trace")
    settings = settings_of(state, labels, {"jobs": jobs, "facts": facts})
    check_named(store_path(state.store_path))
    selection = _selection(state, model, options)
    planned = plan(state.registry, selection, extra_facts=state.facts_of(facts))
    chosen = choose_backend(state.registry)
    ended = carry_out(state, planned, chosen, settings, None, Steadiness(0.0, False, False))
    code = tell_steps(state, planned, ended, target, format, explain=explain)
    if trace is not None:
        from trnbench_steps.commands.workload.trace import (
            write_step_trace,  # a step known needs no model of it
        )

        write_step_trace(planned, ended.run, trace)
    return code


def _selection(state: Session, model: str, options: dict[str, Any]) -> Selection:
    """Raises `UsageError` for what does not divide, where there is only one layout to divide by."""
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
    refuse_idle(Task(options["task"]), {name: f"-a {name}" for name in swept})
    described = model_of(state.registry, model)
    job, layout = job_from(options, described), layout_from(options)
    own = OwnKernels(tuple(_operator(state, each) for each in options["operators"]))
    if not swept:
        division = divide(described, layout, job)
        check_own(own, division)
        if options["paths"]:
            refuse_idle_paths(division, options["paths"])
    asked = StepRequest.of(
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
    from trnbench_emulator.nki.load import load_kernel  # brings NumPy

    load_kernel(source, nki="trnbench")
    return name, source
