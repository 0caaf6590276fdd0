"""`trnbench runs`: what the store holds."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trnbench.cli.cases import case_row, opening, run_head, run_row, stored_case, wanted
from trnbench.errors import UsageError
from trnbench.extension import check_drawn
from trnbench.reference import called, resolve
from trnbench.run.output_file import check_writable, write_whole
from trnbench.store.store import Store
from trnbench.terminal.cell import Column
from trnbench.terminal.context import Session
from trnbench.terminal.output import emit, emit_json, say
from trnbench.terminal.vocabulary import STATUSES, TIMELINE

if TYPE_CHECKING:
    from trnbench.extension import TraceFile
    from trnbench.store.store import RunSummary


_APART = 1e-9  # of a time that is the same


def trace(
    shared: Session, /, *, run: str, case: str, output: Path | None, trace_limit: int, force: bool
) -> None:
    """Write the timeline of CASE, an emulated case of a stored run, for Perfetto; print the file's name."""
    output = output or Path(TIMELINE)
    check_writable(output, force=force, example=TIMELINE)
    stored, found = stored_case(shared, run, case)
    draw = check_drawn(shared.registry.traces.get(stored.backend), "timeline", stored.backend, found.id)
    about = {"tool": f"trnbench {stored.tool_version}", "run": stored.id, "case": found.id}
    file: TraceFile = called(draw)(found, shared.registry, about, trace_limit)
    if found.time_s is not None and abs(file.time_s / found.time_s - 1.0) > _APART:
        say(f"warning: the run had {found.time_s:.6g} s, the model now gives {file.time_s:.6g} s")
    write_whole(output, file.data)
    click.echo(str(output))
    say(f"{file.slices:,} slices, {len(file.data):,} bytes; open it at ui.perfetto.dev", level=0)
    if file.note:
        say(f"note: {file.note}")


def list_(shared: Session, /, *, tags: tuple[str, ...], format: str) -> None:
    """List stored runs, oldest first."""
    with _store(shared) as store:
        found = [each for each in store.list() if set(tags) <= set(each.tags)]
        rows = [run_row(each) for each in found]
        people = (
            "run",
            Column("evidence", keep=1),
            Column("cases_text", "cases", "right"),
            Column("outcome", keep=1),
            "state",
            "tags",
        )
        every = ("run", "created", "evidence", "backend", "policy", "cases", *STATUSES, "state", "tags")
        emit(rows, every if format == "csv" else people, format)
        if not rows:
            what = f"no run has the tag {', '.join(tags)}" if tags else "no run is stored"
            say(f"{what} in {store.path}; make one with: {shared.typed('trnbench run')}")


def show(
    shared: Session,
    /,
    *,
    run: str,
    statuses: tuple[str, ...],
    kernels: tuple[str, ...],
    instances: tuple[str, ...],
    format: str,
) -> None:
    """Show the cases of a stored run."""
    with _store(shared) as store:
        stored = store.load(run)
    cases = [each for each in stored.measurements if wanted(each, statuses, kernels, instances)]
    if format == "json":
        emit_json({"run": run_head(stored), "cases": [case_row(each) for each in cases]})
        return
    if format == "table":
        say(opening(stored, len(cases)))
    columns: tuple[Column | str, ...] = (
        Column("id", "case"),
        Column("status", keep=2),
        Column("time", align="right", keep=2),
        Column("shown", "result", "right", keep=2),
        # Between the processes of measured cases; others have none.
        *([Column("within", "±", "right", keep=2)] if any(each.interval for each in cases) else []),
        Column("of_peak", "of peak", "right", keep=2),
        Column("evidence", keep=2),
        "near",
        Column("expect", align="right"),
        Column("reason", keep=1),
    )
    exact = (
        *("instance", "case", "status", "metric", "value", "unit", "fraction", "evidence", "near"),
        *("time_s", "interval_low_s", "interval_high_s", "processes", "stability"),
        *("expected_low", "expected_high", "best_published", "best_published_id", "reason"),
    )
    emit([case_row(each) for each in cases], exact if format == "csv" else columns, format)


def delete(shared: Session, /, *, runs: tuple[str, ...], yes: bool) -> None:
    """Delete stored runs."""
    with _store(shared) as store:
        ids = tuple(dict.fromkeys(store.resolve(each) for each in runs))
        _confirm(f"delete {', '.join(ids)} from {store.path}?", yes=yes)
        store.delete(ids)
        say(f"deleted {', '.join(ids)}")


def tag(shared: Session, /, *, run: str, tags: tuple[str, ...], remove: tuple[str, ...]) -> None:
    """Give a stored run tags, or take them away; print those it has."""
    with _store(shared) as store:
        now = store.tag(store.resolve(run), add=tags, remove=remove)
        click.echo(" ".join(now))


def prune(
    shared: Session,
    /,
    *,
    keep: int | None,
    older_than: float | None,
    tagged: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Delete old runs without a tag, and print their ids."""
    if keep is None and older_than is None:
        raise UsageError(
            "nothing says which runs are old", cause="--keep or --older-than is needed", try_="--keep 10"
        )
    with _store(shared) as store:
        found = [each for each in store.list() if tagged or not each.tags]
        doomed = _doomed(found, keep, older_than)
        if not doomed:
            say("nothing to delete")
            return
        if not dry_run:
            _confirm(f"delete {len(doomed)} runs from {store.path}?", yes=yes)
            store.delete([each.id for each in doomed])
        for each in doomed:
            click.echo(each.id)


def _doomed(
    found: list[RunSummary], keep: int | None, older_than: float | None, now: datetime | None = None
) -> list[RunSummary]:
    """The runs, oldest first, that neither rule keeps."""
    doomed = found[: max(0, len(found) - keep)] if keep is not None else list(found)
    if older_than is not None:
        before = (now or datetime.now(UTC)) - timedelta(days=older_than)
        doomed = [each for each in doomed if _when(each.created) < before]
    return doomed


def _when(created: str) -> datetime:
    when = datetime.fromisoformat(created)
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _store(shared: Session) -> Store:
    return shared.open_store()


def _confirm(question: str, *, yes: bool) -> None:
    """Ask a person; without one, --yes is needed."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(
            "nobody is there to confirm it", cause=f"stdin is no terminal: {question}", try_="--yes"
        )
    click.confirm(question, abort=True, err=True)


def assumptions(shared: Session, /, *, run: str, case: str, format: str) -> None:
    """What either end of each assumption would do to the time of CASE, an emulated case of a stored run."""
    from trnbench.facts.units import show

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
