"""`trnbench runs`: what the store holds."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trnbench.bounded import kinds
from trnbench.cli.case_assumptions import assumptions
from trnbench.cli.context import Session, session
from trnbench.cli.names import complete_instances, complete_kernels
from trnbench.cli.number import NumberType
from trnbench.cli.output import Column, emit, emit_json, format_option, say
from trnbench.cli.store_names import complete_cases, complete_run_tags, complete_runs
from trnbench.cli.stored import case_row, opening, run_head, run_row, run_tags_option, wanted
from trnbench.cli.stored_case import stored_case
from trnbench.cli.target import force_option
from trnbench.cli.trace_limit import trace_limit_option
from trnbench.errors import UsageError

if TYPE_CHECKING:
    from trnbench.store.store import Store
    from trnbench.store.summary import RunSummary
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


STATUSES = ("ok", "document-low", "inconclusive", "suspect", "failed", "skipped")


@click.group()
def runs() -> None:
    """List, show, trace, explain, tag and delete stored runs.

    RUN is an id, the beginning of one, a tag (its newest run), or "latest".
    """


runs.add_command(trace)
runs.add_command(assumptions)


@runs.command("list")
@run_tags_option
@format_option
@session
def list_(shared: Session, /, *, tags: tuple[str, ...], format: str) -> None:
    """List stored runs, oldest first."""
    with _store(shared) as store:
        found = [each for each in store.list() if set(tags) <= set(each.tags)]
        rows = [run_row(each) for each in found]
        people = ("run", Column("evidence", keep=1), "cases", Column("outcome", keep=1), "state", "tags")
        every = ("run", "created", "evidence", "backend", "policy", "cases", *STATUSES, "state", "tags")
        emit(rows, every if format == "csv" else people, format)
        if not rows:
            what = f"no run has the tag {', '.join(tags)}" if tags else "no run is stored"
            say(f"{what} in {store.path}; make one with: trnbench run")


@runs.command()
@click.argument("run", default="latest", shell_complete=complete_runs)
@click.option("--status", "statuses", multiple=True, type=click.Choice(STATUSES), help="Only these cases.")
@click.option(
    "--kernel",
    "kernels",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_kernels,
    help="Only cases of this kernel (or glob).",
)
@click.option(
    "-i",
    "--instance",
    "instances",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_instances,
    help="Only cases of this system.",
)
@format_option
@session
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


@runs.command()
@click.argument("run", nargs=-1, required=True, shell_complete=complete_runs)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@session
def delete(shared: Session, /, *, run: tuple[str, ...], yes: bool) -> None:
    """Delete stored runs."""
    with _store(shared) as store:
        ids = tuple(dict.fromkeys(store.resolve(each) for each in run))
        _confirm(f"delete {', '.join(ids)} from {store.path}?", yes=yes)
        store.delete(ids)
        say(f"deleted {', '.join(ids)}")


@runs.command()
@click.argument("run", shell_complete=complete_runs)
@click.argument("tag", nargs=-1, shell_complete=complete_run_tags)
@click.option(
    "--remove",
    multiple=True,
    metavar="TAG",
    shell_complete=complete_run_tags,
    help="Take this tag away; may be repeated.",
)
@session
def tag(shared: Session, /, *, run: str, tag: tuple[str, ...], remove: tuple[str, ...]) -> None:
    """Give a stored run tags, or take them away; print those it has."""
    with _store(shared) as store:
        now = store.tag(store.resolve(run), add=tag, remove=remove)
        click.echo(" ".join(now))


@runs.command()
@click.option("--keep", type=NumberType(kinds.KEPT), metavar="N", help="Keep the N newest.")
@click.option("--older-than", type=NumberType(kinds.DAYS), metavar="DAYS", help="Delete only what is older.")
@click.option("--tagged", is_flag=True, help="Delete runs with tags as well.")
@click.option("--dry-run", is_flag=True, help="Say what would be deleted.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@session
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
    from trnbench.store.store import Store

    return Store(shared.store_path)


def _confirm(question: str, *, yes: bool) -> None:
    """Ask a person; without one, --yes is needed."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(
            "nobody is there to confirm it", cause=f"stdin is no terminal: {question}", try_="--yes"
        )
    click.confirm(question, abort=True, err=True)
