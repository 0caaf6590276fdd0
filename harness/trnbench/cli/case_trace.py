"""`trnbench runs trace`: the timeline of an emulated case as a file for trace viewers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from trnbench.cli.context import Session, session
from trnbench.cli.output import say
from trnbench.cli.store_names import complete_cases, complete_runs
from trnbench.cli.stored_case import stored_case
from trnbench.cli.target import force_option
from trnbench.cli.trace_limit import trace_limit_option

if TYPE_CHECKING:
    from trnbench.trace import TraceFile

_APART = 1e-9  # of a time that is the same


@click.command()
@click.argument("run", shell_complete=complete_runs)
@click.argument("case", shell_complete=complete_cases)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("trace.json"),
    show_default=True,
    metavar="FILE",
    help="Where it goes; open it at ui.perfetto.dev.",
)
@trace_limit_option
@force_option
@session
def trace(shared: Session, /, *, run: str, case: str, output: Path, trace_limit: int, force: bool) -> None:
    """Write the timeline of CASE, an emulated case of a stored run, for Perfetto; print the file's name.

    It is emulated again from its key. CASE is an id, or the case without its system where only one has it.
    """
    from trnbench.lazy import resolve
    from trnbench.run.writing import check_writable, write_whole
    from trnbench.trace import check_drawn

    check_writable(output, force=force, example="trace.json")
    stored, found = stored_case(shared, run, case)
    draw = check_drawn(shared.registry.traces.get(stored.backend), "timeline", stored.backend, found.id)
    about = {"tool": f"trnbench {stored.tool_version}", "run": stored.id, "case": found.id}
    file: TraceFile = resolve(draw)(found, shared.registry, about, trace_limit)
    if found.time_s is not None and abs(file.time_s / found.time_s - 1.0) > _APART:
        say(f"warning: the run had {found.time_s:.6g} s, the model now gives {file.time_s:.6g} s")
    write_whole(output, file.data)
    click.echo(str(output))
    say(f"{file.slices:,} slices, {len(file.data):,} bytes; open it at ui.perfetto.dev", level=0)
    if file.note:
        say(f"note: {file.note}")
