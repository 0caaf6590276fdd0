"""`trnbench nki run`: how long, how close to which peak, and what takes the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trnbench.cli.context import Session, quiet_option, session
from trnbench.cli.output import format_option, say
from trnbench.cli.trace_limit import trace_limit_option
from trnbench.errors import ExitCode, FactError, KernelError, UsageError
from trnbench_emulator.commands.nki import arguments as given
from trnbench_emulator.commands.nki.apart import apart
from trnbench_emulator.commands.nki.assuming import WithSwitches
from trnbench_emulator.commands.nki.options import instance_option, kernel_options, runnable, system_of

if TYPE_CHECKING:
    from trnbench.generation import System
    from trnbench.registry import Registry
    from trnbench_emulator.commands.nki.kernel import Loaded
    from trnbench_emulator.kernel_run.result import KernelRun

CORES = ("core", "logical-core", "device", "instance")
POLICIES = ("seed", "device", "engine", "latest")


@click.command("run", cls=WithSwitches)
@kernel_options
@partial(instance_option, many=True)
@click.option(
    "--cores",
    type=click.Choice(CORES),
    default="core",
    show_default=True,
    help="How many run it at once, each the whole problem: one, a logical core's two, a device's, the whole "
    "system's. With --grid: the cores that are full of launches; core is one launch alone.",
)
@click.option(
    "--all",
    "--all-generations",
    "everywhere",
    is_flag=True,
    help="On one system of every generation, side by side.",
)
@click.option(
    "--no-fold",
    "unfolded",
    is_flag=True,
    help="Execute and schedule every round of every loop. The result is the same.",
)
@click.option(
    "--assume",
    "assume",
    multiple=True,
    metavar="no-NAME[,…]",
    help="What the compiler is not taken to do to the kernel; the names are below. Repeatable.",
)
@click.option("--functional", is_flag=True, help="Compute the values as well; --check does so too.")
@click.option("--lines", is_flag=True, help="Time by source line.")
@click.option(
    "--peak",
    "policy",
    type=click.Choice(POLICIES),
    default="seed",
    show_default=True,
    help="Which of the disagreeing documents percentages are taken of.",
)
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    metavar="FILE.json",
    help="Write the timeline for ui.perfetto.dev.",
)
@trace_limit_option
@click.option("--force", is_flag=True, help="Let --trace replace a file that trnbench did not write.")
@quiet_option
@format_option
@session
@apart
def run(
    state: Session,
    kernel: str,
    instances: tuple[str, ...],
    texts: tuple[str, ...],
    grid: str | None,
    reference: str | None,
    tolerance: float | None,
    seed: int,
    limit: int,
    timeout_s: float,
    memory: int,
    nki: str,
    cores: str,
    everywhere: bool,
    unfolded: bool,
    assume: tuple[str, ...],
    functional: bool,
    lines: bool,
    policy: str,
    trace: Path | None,
    trace_limit: int,
    force: bool,
    format: str,
) -> ExitCode:
    """Emulate KERNEL: time, share of each peak, what is busy, what bounds it.

    Only shapes count for the time; values are computed with --functional and --check. Exits with 1
    when a value is wrong, with 3 when the kernel breaks a rule of the machine (of several: of all of them),
    with 124 when it takes longer than --timeout.

    What the compiler is taken to do to the kernel is told with the time, and so is the time without it where
    that differs by more than 10 %.
    """
    from trnbench_emulator.commands.nki import layout
    from trnbench_emulator.commands.nki.benchmark import loaded_with
    from trnbench_emulator.commands.nki.check import VALUES, computed, rows, verdict
    from trnbench_emulator.commands.nki.kernel import guarded
    from trnbench_emulator.compiler import assumptions
    from trnbench_emulator.kernel_run.grid import parse_grid

    assumed = assumptions(assume)
    state.kept = "nothing was written"
    many = everywhere or len(dict.fromkeys(instances)) > 1
    if trace is not None:
        _check_trace(trace, many=many, force=force)

    def chosen() -> list[System]:
        if everywhere:
            return _everywhere(state.registry, instances)
        return [system_of(state.registry, each) for each in dict.fromkeys(instances or ("",))]

    sizes = parse_grid(grid) if grid is not None else ()
    loaded, asked, reference = loaded_with(state.registry, kernel, texts, reference, nki, chosen, timeout_s)
    loaded = loaded.as_grid(sizes)
    systems = chosen()
    code, values = ExitCode.OK, []
    if functional or reference:
        executed, compared = computed(
            loaded,
            systems[0],
            asked,
            reference,
            tolerance=tolerance,
            seed=seed,
            limit=limit,
            timeout_s=timeout_s,
            memory=memory,
        )
        values, code = rows(executed, compared), verdict(compared)
    options: dict[str, Any] = {
        "cores": cores,
        "policy": policy,
        "limit": limit,
        "fold": not unfolded,
        "assumptions": assumed,
    }
    if many:
        with guarded(loaded.ref, timeout_s=timeout_s):
            runs, refused = _side_by_side(loaded, asked, systems, options, state.registry)
        layout.show_runs(runs, refused, format)
        for row in values:
            if row["verdict"].startswith("wrong"):
                say(f"output {row['output']} on {systems[0].name}: {row['verdict']}")
        if not runs:
            say(f"error: {loaded.name} runs on none of them, the table says why")
            return ExitCode.CRASH
        return code
    with guarded(loaded.ref, timeout_s=timeout_s):
        emulated, timeline = _emulated(
            loaded, asked, systems[0], options, state.registry, timeline=trace is not None
        )
    if trace is not None and timeline is not None:
        _write(trace, emulated, timeline, trace_limit)
        state.kept = f"{trace} was written"
    layout.show_run(emulated, format, lines=lines, values=values, value_columns=VALUES)
    return code


def _emulated(
    loaded: Loaded,
    asked: Mapping[str, given.Argument],
    system: System,
    options: Mapping[str, Any],
    registry: Registry,
    *,
    timeline: bool,
) -> tuple[KernelRun, Any]:
    """The run with the nearest published evidence beside it, and its timeline."""
    from trnbench.expectation import expectations
    from trnbench.facts.peak import as_policy
    from trnbench_emulator.kernel_run.emulation import emulate
    from trnbench_emulator.kernel_run.evidence import beside_benchmark, beside_kernel

    emulated, drawn = emulate(
        loaded.kernel,
        given.specs(asked),
        system,
        cores=options["cores"],
        by=loaded.by,
        policy=as_policy(options["policy"]),
        limit=options["limit"],
        fold=options["fold"],
        timeline=timeline,
        assumptions=options["assumptions"],
    )
    near = expectations(registry, {system.name: system})
    if loaded.benchmark is not None:
        return beside_benchmark(emulated, near, loaded.benchmark, loaded.point, system), drawn
    return beside_kernel(emulated, near, registry, loaded.ref, given.specs(asked), system), drawn


def _side_by_side(
    loaded: Loaded,
    asked: Mapping[str, given.Argument],
    systems: Sequence[System],
    options: Mapping[str, Any],
    registry: Registry,
) -> tuple[list[KernelRun], list[tuple[str, str, str]]]:
    """Raises `KernelError` when the kernel runs nowhere, for the same reason everywhere."""
    runs: list[KernelRun] = []
    refused: list[tuple[str, str, str]] = []
    errors: list[KernelError | FactError] = []
    for system in systems:
        try:
            made, _ = _emulated(loaded, asked, runnable(system), options, registry, timeline=False)
        except (KernelError, FactError) as error:
            refused.append((system.generation.name, system.name, error.what))
            errors.append(error)
        else:
            runs.append(made)
    if not runs and len({error.what for error in errors}) == 1:
        raise errors[0]
    return runs, refused


def _everywhere(registry: Registry, instances: Sequence[str]) -> list[System]:
    """One system of every generation that has NeuronCores: those that were asked for, else the first
    of more than one device, else the first."""
    from trnbench.facts.scope import Scope

    asked = [registry.system(each) for each in dict.fromkeys(instances)]
    found = []
    for generation in sorted(registry.generations.values(), key=lambda each: each.order):
        if not generation.instances:
            continue
        own = [each for each in asked if each.generation.name == generation.name]
        if own:
            found += own
            continue
        systems = [registry.system(each.name) for each in generation.instances if not each.sizable]
        whole = [each for each in systems if each.instance.default and each.devices > 1]
        found += [each for each in (whole or systems)[:1] if each.fact(Scope.CORE, "array_rows")]
    return found


def _check_trace(path: Path, *, many: bool, force: bool) -> None:
    from trnbench.run.writing import check_writable

    if many:
        raise UsageError(
            "--trace and several systems do not go together",
            cause="a trace file holds the timeline of one system",
            try_="--instance NAME --trace FILE.json, once for each",
        )
    check_writable(path, force=force, option="--trace", example="trace.json")


def _write(path: Path, made: KernelRun, timeline: Any, cap: int) -> None:
    from trnbench.run.writing import write_whole
    from trnbench.version import VERSION
    from trnbench_emulator.trace import write_trace

    evidence = f"{made.evidence.grade} by {made.evidence.by} {made.evidence.version}".strip()
    about = {
        "tool": f"trnbench {VERSION}",
        "kernel": made.kernel,
        "nki": made.nki,
        "system": made.system,
        "scope": str(made.scope),
        "cores": made.cores,
        "latency_s": made.latency_s,
        "assumptions": ", ".join(f"no-{each.name}" for each in made.assumed if not each.on),
    }
    file = write_trace(timeline, evidence=evidence, about=about, cap=cap)
    write_whole(path, file.data, option="--trace")
    say(f"wrote {path}: {file.kept:,} slices, {len(file.data):,} bytes; open it at ui.perfetto.dev", level=0)
    if file.said:
        say(f"warning: {path} is not complete: {file.said}")
