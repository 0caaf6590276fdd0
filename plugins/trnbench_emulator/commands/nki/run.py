"""`trnbench nki run`: how long, how close to which peak, and what takes the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trnbench import Session
from trnbench.errors import ExitCode, FactError, KernelError, UsageError
from trnbench.facts.fact import Scope
from trnbench.run.expectation import expectations
from trnbench.run.output_file import write_whole
from trnbench.terminal.output import say
from trnbench.terminal.target import check_timeline
from trnbench.version import VERSION
from trnbench_emulator.commands.nki import arguments as given
from trnbench_emulator.commands.nki import layout
from trnbench_emulator.commands.nki.arguments import runnable, system_of
from trnbench_emulator.commands.nki.benchmark import loaded_with
from trnbench_emulator.commands.nki.check import computed, rows, told, verdict
from trnbench_emulator.commands.nki.kernel import apart, guarded
from trnbench_emulator.compiler import assumptions
from trnbench_emulator.kernel_run.emulation import emulate, parse_grid, programs_of
from trnbench_emulator.kernel_run.evidence import beside_benchmark, beside_kernel
from trnbench_emulator.nki import Machine, TensorSpec, provide, record
from trnbench_emulator.trace import write_trace

if TYPE_CHECKING:
    from trnbench.generation import System
    from trnbench.registry import Registry
    from trnbench_emulator.commands.nki.kernel import Loaded
    from trnbench_emulator.kernel_run.result import KernelRun
    from trnbench_emulator.nki.shadow import Finding


FOLLOWED, ELEMENTS = 2_000, 1 << 22
"""Instructions, and elements of arguments, up to which a run without values looks for findings: a fraction of
a second."""

LIMITS = ("tolerance", "seed", "limit", "timeout_s", "memory")
"""Options of what computes a kernel's values."""


@apart
def run(
    state: Session,
    /,
    *,
    kernel: str,
    instances: tuple[str, ...],
    texts: tuple[str, ...],
    grid: str | None,
    reference: str | None,
    nki: str,
    everywhere: bool,
    functional: bool,
    trace: Path | None,
    force: bool,
    format: str,
    **options: Any,
) -> ExitCode:
    """Emulate KERNEL: time, share of each peak, what is busy, what bounds it."""
    options["assumptions"] = assumptions(options["assume"])
    options["policy"], options["seed"] = state.policy_of(options["policy"]), state.seed_of(options["seed"])
    state.kept = "nothing was written"
    many = everywhere or len(dict.fromkeys(instances)) > 1
    if trace is not None:
        _check_trace(trace, many=many, force=force)

    def chosen() -> list[System]:
        facts = state.facts_of(())
        if everywhere:
            return _everywhere(state.registry, instances, facts)
        return [system_of(state.registry, each, facts) for each in dict.fromkeys(instances or ("",))]

    sizes = parse_grid(grid) if grid is not None else ()
    loaded, asked, reference = loaded_with(
        state.registry, kernel, texts, reference, nki, chosen, options["timeout_s"]
    )
    loaded = loaded.as_grid(sizes)
    systems = chosen()
    findings: tuple[Finding, ...] | None = None
    code, values = ExitCode.OK, []
    if functional or reference:
        limits = {name: options[name] for name in LIMITS}
        executed, agreements = computed(loaded, systems[0], asked, reference, **limits)
        values, code, findings = rows(executed, agreements), verdict(agreements), executed.findings
    if many:
        told(findings or (), warning=True)
        return _show_side_by_side(state, loaded, asked, systems, options, values, code, format)
    with guarded(loaded.ref, timeout_s=options["timeout_s"]):
        emulated, timeline = _emulated(
            loaded, asked, systems[0], options, state.registry, timeline=trace is not None
        )
        if findings is None:
            findings = _followed(loaded, asked, systems[0], emulated.instructions)
    if trace is not None and timeline is not None:
        _write(trace, emulated, timeline, options["trace_limit"])
        state.kept = f"{trace} was written"
    layout.show_run(emulated, format, lines=options["lines"], values=values, findings=findings or ())
    if findings is None:
        say("faults on a device were not looked for: trnbench nki check looks for them", level=0)
    told(findings or (), warning=True)
    return code or _suspect([emulated])


def _followed(
    loaded: Loaded, asked: Mapping[str, given.Argument], system: System, instructions: int
) -> tuple[Finding, ...] | None:
    """What a device would punish, by shapes alone; None of a large kernel, since all rounds are executed."""
    arguments = given.specs(asked)
    elements = sum(prod(value.shape) for value in arguments.values() if isinstance(value, TensorSpec))
    if programs_of(loaded.kernel, system) > 1 or instructions > FOLLOWED or elements > ELEMENTS:
        return None
    with provide("trnbench"):
        trace = record(loaded.kernel, (), arguments, machine=Machine.of(system), shadow=True)
    return trace.findings


def _show_side_by_side(
    state: Session,
    loaded: Loaded,
    asked: Mapping[str, given.Argument],
    systems: Sequence[System],
    options: Mapping[str, Any],
    values: Sequence[Mapping[str, Any]],
    code: ExitCode,
    format: str,
) -> ExitCode:
    """One row a system; `values` are those of the first, and `code` is what they end with.

    Raises `KernelError` when the kernel runs nowhere, for the same reason everywhere.
    """
    runs: list[KernelRun] = []
    refused: list[tuple[str, str, str]] = []
    errors: list[KernelError | FactError] = []
    with guarded(loaded.ref, timeout_s=options["timeout_s"]):
        for system in systems:
            try:
                made, _ = _emulated(loaded, asked, runnable(system), options, state.registry, timeline=False)
            except (KernelError, FactError) as error:
                refused.append((system.generation.name, system.name, error.what))
                errors.append(error)
            else:
                runs.append(made)
    if not runs and len({error.what for error in errors}) == 1:
        raise errors[0]
    layout.show_runs(runs, refused, format)
    for row in values:
        if row["verdict"].startswith("wrong"):
            say(f"output {row['output']} on {systems[0].name}: {row['verdict']}")
    if not runs:
        say(f"error: {loaded.name} runs on none of them, the table says why")
        return ExitCode.CRASH
    return code or _suspect(runs)


def _suspect(runs: Sequence[KernelRun]) -> ExitCode:
    """1 where a number cannot be, as of any run."""
    return ExitCode.GATE if any(run.doubts for run in runs) else ExitCode.OK


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
    emulated, drawn = emulate(
        loaded.kernel,
        given.specs(asked),
        system,
        cores=options["cores"],
        by=loaded.by,
        policy=options["policy"],
        limit=options["limit"],
        timeline=timeline,
        assumptions=options["assumptions"],
    )
    near = expectations(registry, {system.name: system})
    if loaded.benchmark is not None:
        return beside_benchmark(emulated, near, loaded.benchmark, loaded.point, system), drawn
    return beside_kernel(emulated, near, registry, loaded.ref, given.specs(asked), system), drawn


def _everywhere(registry: Registry, instances: Sequence[str], facts: tuple[Path, ...]) -> list[System]:
    """One system of every generation that has NeuronCores: those that were asked for, else the first
    of more than one device, else the first."""
    asked = [registry.system(each, facts) for each in dict.fromkeys(instances)]
    found = []
    for generation in sorted(registry.generations.values(), key=lambda each: each.order):
        if not generation.instances:
            continue
        own = [each for each in asked if each.generation.name == generation.name]
        if own:
            found += own
            continue
        if not registry.reads(generation.name):
            continue
        systems = [registry.system(each.name, facts) for each in generation.instances if not each.sizable]
        whole = [each for each in systems if each.instance.default and each.devices > 1]
        found += [each for each in (whole or systems)[:1] if each.fact(Scope.CORE, "array_rows")]
    return found


def _check_trace(path: Path, *, many: bool, force: bool) -> None:
    if many:
        raise UsageError(
            "--trace and several systems do not go together",
            cause="a trace file holds the timeline of one system",
            try_="--instance NAME --trace FILE.json, once for each",
        )
    check_timeline(path, force=force, option="--trace")


def _write(path: Path, made: KernelRun, timeline: Any, cap: int) -> None:
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
