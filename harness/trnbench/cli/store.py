"""`trnbench store`: look after the file of results."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path

import click

from trnbench.errors import ExitCode, StoreError, UsageError, counted
from trnbench.facts.fact import as_policy
from trnbench.results.measurement import BAD, status_words
from trnbench.results.run import Run
from trnbench.run.imported_run import UNREAD, Context, imported_run
from trnbench.run.importing import OWN, find_importer, read_given, read_runs
from trnbench.store.cache import Cache
from trnbench.store.merge import merge as merged
from trnbench.store.path import store_path
from trnbench.store.repair import backup as backed_up
from trnbench.store.repair import check as checked
from trnbench.store.repair import repair as repaired
from trnbench.store.store import Store
from trnbench.store.tag import checked_tags
from trnbench.terminal.context import Session
from trnbench.terminal.output import emit, mention, say
from trnbench.terminal.target import STDOUT


def check(shared: Session, /, *, format: str) -> int:
    """Compare tables, documents, journals and digests; exit code 1 where they differ."""
    with Store(shared.store_path) as opened:
        findings = checked(opened)
        rows = [
            {"run": each.run, "problem": each.what, "repair": "yes" if each.repair else "no"}
            for each in findings
        ]
        if rows or format != "table":
            emit(rows, ("run", "problem", "repair"), format)
        if not findings:
            say(f"{opened.path}: nothing is wrong")
            return ExitCode.OK
    if any(each.repair for each in findings):
        say(shared.typed("repair with: trnbench store repair"))
    return ExitCode.GATE


def repair(shared: Session, /) -> None:
    """Fill the store from its journals, and write again what its documents contradict."""
    with shared.open_store() as opened:
        done = repaired(opened)
        for each in done:
            click.echo(each)
        if not done:
            say(f"{opened.path}: nothing was to be done")


def backup(shared: Session, /, *, file: Path) -> None:
    """Copy the store into a new FILE, while others may write to it, and print its path."""
    with Store(shared.store_path) as opened:
        backed_up(opened, file)
    click.echo(str(file))


def merge(shared: Session, /, *, others: tuple[Path, ...]) -> None:
    """Put the runs of OTHER stores into this one, and print the ids of those that are new or renewed."""
    with shared.open_store() as opened:
        done = merged(opened, others)
        for run_id in (*done.added, *done.renewed):
            click.echo(run_id)
        told = {
            "added": done.added,
            "renewed": done.renewed,
            "here already": done.known,
            "under way and left out": done.under_way,
        }
        counts = ", ".join(f"{len(ids)} {what}" for what, ids in told.items() if ids)
        mention(f"{opened.path}: {counts or 'no run was there to merge'}")


def import_(
    shared: Session,
    /,
    *,
    files: tuple[Path, ...],
    name: str,
    grade: str | None,
    instance: str,
    kernel: str,
    ranks: int,
    author: str,
    labels: tuple[str, ...],
    anyway: bool,
) -> None:
    """Put runs and results from files into the store, and print the ids; - reads standard input."""
    tags = checked_tags(labels)
    importer = find_importer(shared.registry, name)
    if importer.name == OWN and (grade or instance or kernel or ranks or author):
        raise UsageError(
            "a run of trnbench says itself what its numbers are",
            cause="--grade, -i, --kernel, --rank-count and --author are for files of other tools",
            try_="--from FORMAT; trnbench list importers",
        )
    told = Context(
        grade=grade or "",
        instance=instance,
        kernel=kernel,
        ranks=ranks,
        by=author,
        policy=as_policy(shared.settings.policy),
    )
    read_in: list[Run] = []
    for each in files:
        data = read_given(None if each == STDOUT else each)
        made = partial(imported_run, data=data, name=importer.name, told=told, registry=shared.registry)
        read_in += read_runs(importer, data, str(each), anyway=anyway, told=made)
    with shared.open_store() as store:
        store.save(*read_in, tags=tags)
        for run in read_in:
            click.echo(run.id)
            for note in run.notes:
                if note.startswith(UNREAD):
                    say(f"warning: run {run.id}: {note}")
            bad = {status: count for status, count in run.counts().items() if count and status in BAD}
            if bad and importer.name != OWN:
                why = shared.typed(f"trnbench runs show {run.id}")
                say(f"warning: run {run.id}: {status_words(bad)}; {why}  says why")
        cases = counted(sum(len(run.measurements) for run in read_in), "case")
        mention(f"{counted(len(read_in), 'run')} with {cases} put into {store.path}")


def cache(shared: Session, /, *, clear: bool, format: str) -> None:
    """How many answers are kept, in how many bytes, and where; or forget them."""
    if clear:
        _clear(shared)
        return
    with closing(Cache(store_path(shared.store_path))) as kept:
        row = kept.info()._asdict()
    emit([{**row, "path": str(row["path"])}], tuple(row), format)


def _clear(shared: Session) -> None:
    """Forget all of it; the next run works everything out anew."""
    kept = Cache(store_path(shared.store_path))
    try:
        held = kept.clear()
    except OSError as error:
        raise StoreError(
            f"{kept.path} cannot be removed: {error.strerror or error}",
            cause="its folder cannot be written to by this user",
            try_="trnbench run --no-cache  does without it",
        ) from error
    say(f"{held.path}: forgot {held.entries:,} answers ({held.bytes / 2**20:.1f} MiB)")
