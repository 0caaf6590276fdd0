"""`trnbench runs assumptions`: what either end of each assumption would do to the time of a case."""

from __future__ import annotations

import click

from trnbench.cli.context import Session, session
from trnbench.cli.output import Column, emit, format_option, say
from trnbench.cli.store_names import complete_cases, complete_runs
from trnbench.cli.stored_case import stored_case


@click.command()
@click.argument("run", shell_complete=complete_runs)
@click.argument("case", shell_complete=complete_cases)
@format_option
@session
def assumptions(shared: Session, /, *, run: str, case: str, format: str) -> None:
    """What either end of each assumption would do to the time of CASE, an emulated case of a stored run.

    It is emulated again from its key, once for each end. CASE is an id, or the case without its system where
    only one has it.
    """
    from trnbench.facts.format import show
    from trnbench.lazy import resolve
    from trnbench.trace import check_drawn

    stored, measurement = stored_case(shared, run, case)
    trace = shared.registry.traces.get(stored.backend)
    assumption_ends = resolve(check_drawn(trace, "assumptions", stored.backend, measurement.id))
    usual, ends = assumption_ends(measurement, shared.registry)
    rows: list[dict[str, object]] = [
        {
            "assumption": each.name,
            "taken": each.taken,
            "taken_text": show(each.taken, each.unit),
            "end": each.value,
            "end_text": show(each.value, each.unit),
            "unit": each.unit,
            "time_s": each.time_s,
            "change": each.ratio - 1,
            "reason": each.reason,
        }
        for each in ends
    ]
    say(f"usual: {show(usual, 's')}", level=0)
    if not rows:
        say(f"{measurement.id} names no assumption with a range", level=0)
    people = (
        "assumption",
        Column("taken_text", "taken", "right"),
        Column("end_text", "instead", "right"),
        Column("time_s", "time", "right", lambda value: show(value, "s")),
        Column("change", "change", "right", lambda value: f"{value * 100:+.1f} %"),
    )
    every = ("assumption", "taken", "end", "unit", "time_s", "change", "reason")
    emit(rows, every if format == "csv" else people, format, title=measurement.id)
