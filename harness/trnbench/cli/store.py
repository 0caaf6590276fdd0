"""`trnbench store`: look after the file of results."""

from __future__ import annotations

from pathlib import Path

import click

from trnbench.cli.context import Session, session
from trnbench.cli.output import emit, format_option, say
from trnbench.errors import ExitCode


@click.group()
def store() -> None:
    """Check, repair, back up and merge stores.

    Other commands fill it from the journals beside it by themselves. The file is the one of --store,
    TRNBENCH_STORE or the user's data folder.
    """


@store.command()
@format_option
@session
def check(shared: Session, /, *, format: str) -> int:
    """Compare tables, documents, journals and digests; exit code 1 where they differ."""
    from trnbench.store.checking import check as checked
    from trnbench.store.store import Store

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
        say("repair with: trnbench store repair")
    return ExitCode.GATE


@store.command()
@session
def repair(shared: Session, /) -> None:
    """Fill the store from its journals, and write again what its documents contradict.

    A damaged database is put aside and made anew from every run that can be read. No file is removed.
    """
    from trnbench.store.repairing import repair as repaired
    from trnbench.store.store import Store

    with Store(shared.store_path) as opened:
        done = repaired(opened)
        for each in done:
            click.echo(each)
        if not done:
            say(f"{opened.path}: nothing was to be done")


@store.command()
@click.argument("file", type=click.Path(path_type=Path))
@session
def backup(shared: Session, /, *, file: Path) -> None:
    """Copy the store into a new FILE, while others may write to it, and print its path."""
    from trnbench.store.repairing import backup as backed_up
    from trnbench.store.store import Store

    with Store(shared.store_path) as opened:
        backed_up(opened, file)
    click.echo(str(file))


@store.command()
@click.argument("other", nargs=-1, required=True, type=click.Path(path_type=Path))
@session
def merge(shared: Session, /, *, other: tuple[Path, ...]) -> None:
    """Put the runs of OTHER stores into this one, and print the ids of those that are new or renewed.

    All or, on an error, none. The other files are only read, and what is here already stays.
    """
    from trnbench.store.merging import merge as merged
    from trnbench.store.store import Store

    with Store(shared.store_path) as opened:
        done = merged(opened, other)
        for run_id in (*done.added, *done.renewed):
            click.echo(run_id)
        told = {
            "added": done.added,
            "renewed": done.renewed,
            "here already": done.known,
            "under way and left out": done.under_way,
        }
        counts = ", ".join(f"{len(ids)} {what}" for what, ids in told.items() if ids)
        say(f"{opened.path}: {counts or 'no run was there to merge'}", level=0)
