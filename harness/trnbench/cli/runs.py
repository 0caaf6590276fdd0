"""`trnbench runs`: what the store holds."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from trnbench.cli.context import Session, session
from trnbench.cli.output import Column, emit, emit_json, format_option, say
from trnbench.errors import UsageError

if TYPE_CHECKING:
    from trnbench.results.measurement import Measurement
    from trnbench.results.run import Run
    from trnbench.store.store import Store
    from trnbench.store.summary import RunSummary

STATUSES = ("ok", "document-low", "suspect", "failed", "skipped")


@click.group()
def runs() -> None:
    """List, show, tag and delete stored runs.

    RUN is an id, the beginning of one, a tag (its newest run), or "latest".
    """


@runs.command("list")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only runs with this tag.")
@format_option
@session
def list_(shared: Session, /, *, tags: tuple[str, ...], format: str) -> None:
    """List stored runs, oldest first."""
    with _store(shared) as store:
        found = [each for each in store.list() if set(tags) <= set(each.tags)]
        rows = [_row(each) for each in found]
        # An id must stay in one piece on a terminal of 80 columns.
        narrow = ("run", "evidence", "cases", "outcome", "state", "tags")
        every = ("run", "created", "evidence", "backend", "policy", "cases", *STATUSES, "state", "tags")
        emit(rows, every if format == "csv" else narrow, format)
        if not rows:
            what = f"no run has the tag {', '.join(tags)}" if tags else "no run is stored"
            say(f"{what} in {store.path}; make one with: trnbench run")


@runs.command()
@click.argument("run", default="latest")
@click.option("--status", "statuses", multiple=True, type=click.Choice(STATUSES), help="Only these cases.")
@click.option(
    "--kernel", "kernels", multiple=True, metavar="NAME", help="Only cases of this kernel (or glob)."
)
@click.option(
    "-i", "--instance", "instances", multiple=True, metavar="NAME", help="Only cases of this system."
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
        found = store.load(run)
    cases = [each for each in found.measurements if _wanted(each, statuses, kernels, instances)]
    if format == "json":
        emit_json({"run": _head(found), "cases": [_case(each) for each in cases]})
        return
    if format == "table":
        say(_opening(found, len(cases)))
    columns = (
        "instance",
        "case",
        "status",
        Column("shown", "result", "right"),
        Column("of_peak", "of peak", "right"),
        "evidence",
        "reason",
    )
    exact = ("instance", "case", "status", "metric", "value", "unit", "fraction", "evidence", "reason")
    emit([_case(each) for each in cases], exact if format == "csv" else columns, format)


@runs.command()
@click.argument("run", nargs=-1, required=True)
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
@click.argument("run")
@click.argument("tag", nargs=-1)
@click.option("--remove", multiple=True, metavar="TAG", help="Take this tag away; may be repeated.")
@session
def tag(shared: Session, /, *, run: str, tag: tuple[str, ...], remove: tuple[str, ...]) -> None:
    """Give a stored run tags, or take them away; print those it has."""
    with _store(shared) as store:
        now = store.tag(store.resolve(run), add=tag, remove=remove)
        click.echo(" ".join(now))


@runs.command()
@click.option("--keep", type=click.IntRange(min=0), metavar="N", help="Keep the N newest.")
@click.option("--older-than", type=click.FloatRange(min=0), metavar="DAYS", help="Delete only what is older.")
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


def _row(each: RunSummary) -> dict[str, object]:
    return {
        "run": each.id,
        "created": each.created,
        "finished": each.finished,
        "evidence": str(each.grade),
        "backend": each.backend,
        "policy": each.policy,
        "cases": each.cases,
        "planned": each.planned,
        **{str(status): count for status, count in each.counts.items()},
        "outcome": ", ".join(f"{count:,} {status}" for status, count in each.counts.items() if count),
        "state": each.state,
        "tags": list(each.tags),
        "instances": list(each.instances),
        "tool_version": each.tool_version,
    }


def _head(found: Run) -> dict[str, object]:
    return {
        "id": found.id,
        "created": found.created,
        "finished": found.finished,
        "evidence": str(found.grade),
        "backend": found.backend,
        "policy": str(found.policy),
        "tool_version": found.tool_version,
        "interrupted": found.interrupted,
        "notes": list(found.notes),
    }


def _opening(found: Run, shown: int) -> str:
    total = len(found.measurements)
    lines = [
        f"run {found.id}: {found.grade} by {found.backend}, {found.created}, trnbench {found.tool_version}",
        f"{shown} of {total} cases; percentages of the {found.policy} peaks",
    ]
    if found.interrupted:
        lines.append("this run was interrupted: some cases are missing")
    return "\n".join(lines + [f"note: {note}" for note in found.notes])


def _wanted(
    each: Measurement, statuses: tuple[str, ...], kernels: tuple[str, ...], instances: tuple[str, ...]
) -> bool:
    from fnmatch import fnmatchcase

    def fits(name: str, patterns: tuple[str, ...]) -> bool:
        return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)

    return (
        (not statuses or str(each.status) in statuses)
        and fits(each.case.kernel, kernels)
        and fits(each.case.instance, instances)
    )


def _case(each: Measurement) -> dict[str, object]:
    from trnbench.facts.format import percent
    from trnbench.facts.format import show as show_value

    metric = each.metrics.get(each.primary)
    judged = each.judgement
    return {
        "id": each.id,
        "instance": each.case.instance,
        "case": each.case.fullname,
        "status": str(each.status),
        "metric": each.primary,
        "value": metric.value if metric else None,
        "unit": metric.unit if metric else "",
        "shown": show_value(metric.value, metric.unit) if metric else None,
        "fraction": judged.fraction if judged else None,
        "of_peak": percent(judged.fraction) if judged else None,
        "time_s": each.time_s,
        "evidence": str(each.evidence.grade),
        "by": each.evidence.by,
        "reason": each.reason_text or None,
    }
