"""`trnbench nki check`: does the kernel keep the rules, and are its values right?"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trnbench import Session
from trnbench.errors import ExitCode, UsageError
from trnbench.terminal.cell import Column
from trnbench.terminal.output import emit, say
from trnbench_emulator.commands.nki import arguments as given
from trnbench_emulator.commands.nki.arguments import system_of
from trnbench_emulator.commands.nki.benchmark import loaded_with
from trnbench_emulator.commands.nki.kernel import apart, compute, guarded
from trnbench_emulator.kernel_run.emulation import parse_grid, programs_of
from trnbench_emulator.nki import agreement, load_kernel
from trnbench_emulator.nki.shadow import RULES

if TYPE_CHECKING:
    from trnbench.generation import System
    from trnbench_emulator.commands.nki.kernel import Loaded
    from trnbench_emulator.nki import Trace
    from trnbench_emulator.nki.agreement import Agreement
    from trnbench_emulator.nki.shadow import Finding


VALUES: tuple[Column | str, ...] = (
    "output",
    Column("shape", show=lambda shape: "x".join(map(str, shape))),
    "dtype",
    Column("nan", "NaN"),
    "smallest",
    "largest",
    Column("error", keep=1),
    Column("allowed", keep=1),
    Column("verdict", keep=2),
)


@apart
def check(
    state: Session,
    kernel: str,
    instance: str | None,
    texts: tuple[str, ...],
    grid: str | None,
    reference: str | None,
    tolerance: float | None,
    seed: int | None,
    limit: int,
    timeout_s: float,
    memory: int,
    nki: str,
    format: str,
) -> ExitCode:
    """Run KERNEL with values and without time: rules, shapes, NaN, and a reference if one is named."""
    state.kept = "nothing was written"
    sizes = parse_grid(grid) if grid is not None else ()

    def chosen() -> System:
        return system_of(state.registry, instance, state.facts_of(()))

    loaded, asked, reference = loaded_with(state.registry, kernel, texts, reference, nki, chosen, timeout_s)
    loaded = loaded.as_grid(sizes)
    system = chosen()
    programs_of(loaded.kernel, system)
    trace, agreements = computed(
        loaded,
        system,
        asked,
        reference,
        tolerance=tolerance,
        seed=state.seed_of(seed),
        limit=limit,
        timeout_s=timeout_s,
        memory=memory,
    )
    table = rows(trace, agreements)
    if format == "json":
        table += [finding.row() for finding in trace.findings]
    emit(table, VALUES, format, title=f"{loaded.name} on {system.name}")
    told(trace.findings)
    say(
        f"{trace.count:,} instructions; SBUF {trace.sbuf_peak_bytes:,} and PSUM {trace.psum_peak_bytes:,} "
        f"bytes per partition at most; nki: {loaded.by}",
        level=0,
    )
    broken = any(finding.error for finding in trace.findings)
    return ExitCode.GATE if broken else verdict(agreements)


def told(findings: Sequence[Finding], *, warning: bool = False) -> None:
    """Each finding with its remedy and its source; all as warnings where nothing is decided by them."""
    for finding in findings:
        text = str(finding)
        if warning:
            text = f"warning: {text.partition(': ')[2]}"
        say(f"{text}\n  try: {finding.remedy}\n  rule: {RULES[finding.rule].source}")


def computed(
    loaded: Loaded,
    system: System,
    asked: Mapping[str, given.Argument],
    reference: str | None,
    *,
    tolerance: float | None,
    seed: int,
    limit: int,
    timeout_s: float,
    memory: int,
) -> tuple[Trace, tuple[Agreement, ...]]:
    """The kernel's values, and what they are against the reference where one is named."""
    function = None
    if reference:
        with guarded(loaded.ref, timeout_s=timeout_s):
            function = find(reference, loaded.ref)
    drawn = [each.name for each in asked.values() if each.shape is not None and each.file is None]
    if drawn:
        say(f"random values, seed {seed}: {', '.join(drawn)}", level=0)
    inputs = given.values(asked, seed)
    trace = compute(loaded, system, inputs, limit=limit, timeout_s=timeout_s, memory=memory)
    if function is None:
        return trace, ()
    with guarded(loaded.ref, timeout_s=timeout_s):
        wanted = agreement.call(function, str(reference), inputs)
    return trace, compared(trace, wanted, asked, tolerance)


def compared(
    trace: Trace, wanted: Sequence[Any], asked: Mapping[str, given.Argument], tolerance: float | None
) -> tuple[Agreement, ...]:
    """Each output against what is `wanted`; without a `tolerance` by the data types."""
    dtypes = [each.dtype for each in trace.output_specs]
    types = [each.dtype for each in asked.values() if each.dtype]
    return agreement.compare(trace.outputs, dtypes, wanted, types, tolerance)


def rows(trace: Trace, agreements: tuple[Agreement, ...]) -> list[dict[str, Any]]:
    """One per output; `error` and `allowed` in the output's own unit."""
    table: list[dict[str, Any]] = []
    for number, (array, spec) in enumerate(zip(trace.outputs, trace.output_specs, strict=True)):
        wide = np.asarray(array, np.float64)
        finite = wide[np.isfinite(wide)]
        row: dict[str, Any] = {
            "output": number,
            "shape": spec.shape,
            "dtype": spec.dtype,
            "nan": int(np.isnan(wide).sum()),
            "smallest": float(finite.min()) if finite.size else None,
            "largest": float(finite.max()) if finite.size else None,
            "error": None,
            "allowed": None,
            "verdict": "not compared",
        }
        if agreements:
            one = agreements[number]
            place = ", ".join(map(str, one.where))
            row |= {
                "error": one.error,
                "allowed": one.tolerance * one.scale,
                "verdict": "as the reference"
                if one.ok
                else f"wrong: {one.wrong:,} of {one.elements:,} elements, the worst at [{place}]",
            }
        table.append(row)
    return table


def verdict(agreements: tuple[Agreement, ...]) -> ExitCode:
    return ExitCode.OK if all(each.ok for each in agreements) else ExitCode.GATE


def find(ref: str, kernel_ref: str) -> Any:
    """The function that `ref` names: `name` in the kernel's own file, FILE.py::name or module:name."""
    if ":" not in ref:
        home, double, _ = kernel_ref.partition("::")
        ref = f"{home}::{ref}" if double else f"{kernel_ref.partition(':')[0]}:{ref}"
    if "::" in ref:
        function, _, _ = load_kernel(ref, kind="function")
        return getattr(function, "function", function)
    module, _, name = ref.partition(":")
    if module == kernel_ref.partition(":")[0]:  # it imports nki, as the kernel does
        function, _, _ = load_kernel(ref, nki="trnbench", kind="function")
        return getattr(function, "function", function)
    sys.path.insert(0, str(Path.cwd()))
    try:
        function = getattr(importlib.import_module(module), name, None)
    except Exception as error:
        raise UsageError(
            f"--check {ref}: {module} cannot be imported",
            cause=f"{type(error).__name__}: {error}",
            try_="--check FILE.py::function, or a function of the kernel's own file by its name",
        ) from error
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(str(Path.cwd()))
    if not callable(function):
        raise UsageError(f"--check {ref}: {module} has no function {name!r}")
    return function
