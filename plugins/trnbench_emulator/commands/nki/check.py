"""`trnbench nki check`: does the kernel keep the rules, and are its values right?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from trnbench.cli.context import Session, quiet_option, session
from trnbench.cli.output import Column, emit, format_option, say
from trnbench.errors import ExitCode
from trnbench_emulator.commands.nki import arguments as given
from trnbench_emulator.commands.nki.apart import apart
from trnbench_emulator.commands.nki.options import instance_option, kernel_options, system_of

if TYPE_CHECKING:
    from trnbench.generation import System
    from trnbench_emulator.commands.nki.kernel import Loaded
    from trnbench_emulator.nki import Trace
    from trnbench_emulator.nki.compared import Compared

VALUES: tuple[Column | str, ...] = (
    "output",
    Column("shape", show=lambda shape: "x".join(map(str, shape))),
    "dtype",
    Column("nan", "NaN"),
    Column("smallest"),
    Column("largest"),
    Column("error", keep=1),
    Column("allowed", keep=1),
    Column("verdict", keep=2),
)


@click.command("check")
@kernel_options
@instance_option
@quiet_option
@format_option
@session
@apart
def check(
    state: Session,
    kernel: str,
    instance: str | None,
    texts: tuple[str, ...],
    grid: str | None,
    reference: str | None,
    tolerance: float | None,
    seed: int,
    limit: int,
    timeout_s: float,
    memory: int,
    nki: str,
    format: str,
) -> ExitCode:
    """Run KERNEL with values and without time: rules, shapes, NaN, and a reference if one is named.

    Exits with 1 when a value is wrong, with 3 when the kernel breaks a rule of the machine.
    """
    from trnbench_emulator.commands.nki.benchmark import loaded_with
    from trnbench_emulator.kernel_run.grid import parse_grid, programs_of

    state.kept = "nothing was written"
    sizes = parse_grid(grid) if grid is not None else ()
    loaded, asked, reference = loaded_with(
        state.registry, kernel, texts, reference, nki, lambda: system_of(state.registry, instance), timeout_s
    )
    loaded = loaded.as_grid(sizes)
    system = system_of(state.registry, instance)
    programs_of(loaded.kernel, system)
    trace, compared = computed(
        loaded,
        system,
        asked,
        reference,
        tolerance=tolerance,
        seed=seed,
        limit=limit,
        timeout_s=timeout_s,
        memory=memory,
    )
    emit(rows(trace, compared), VALUES, format, title=f"{loaded.name} on {system.name}")
    say(
        f"{trace.count:,} instructions; SBUF {trace.sbuf_peak_bytes:,} and PSUM {trace.psum_peak_bytes:,} "
        f"bytes per partition at most; nki: {loaded.by}",
        level=0,
    )
    return verdict(compared)


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
) -> tuple[Trace, tuple[Compared, ...]]:
    """The kernel's values, and what they are against the reference where one is named."""
    from trnbench_emulator.commands.nki.kernel import compute, guarded
    from trnbench_emulator.commands.nki.reference import find
    from trnbench_emulator.nki import compared

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
        wanted = compared.call(function, str(reference), inputs)
    dtypes = [each.dtype for each in trace.output_specs]
    types = [each.dtype for each in asked.values() if each.dtype]
    return trace, compared.compare(trace.outputs, dtypes, wanted, types, tolerance)


def rows(trace: Trace, compared: tuple[Compared, ...]) -> list[dict[str, Any]]:
    """One per output; `error` and `allowed` in the output's own unit."""
    import numpy as np

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
        if compared:
            one = compared[number]
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


def verdict(compared: tuple[Compared, ...]) -> ExitCode:
    return ExitCode.OK if all(each.ok for each in compared) else ExitCode.GATE
