"""`trnbench import`: runs out of files into the store."""

from __future__ import annotations

from pathlib import Path

import click

from trnbench.cli.context import Session, session
from trnbench.cli.output import say
from trnbench.cli.target import STDOUT


@click.command("import")
@click.argument("file", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--as", "name", default="", metavar="FORMAT", help="What a plugin reads: trnbench list importers."
)
@click.option("--label", "labels", multiple=True, metavar="TAG", help="Tag the stored runs; may be repeated.")
@click.option("--anyway", is_flag=True, help="Keep a run although its digest says that it was edited.")
@session
def import_(
    shared: Session, /, *, file: tuple[Path, ...], name: str, labels: tuple[str, ...], anyway: bool
) -> None:
    """Put runs from files into the store, and print their ids; - reads standard input.

    Reads what `trnbench export --as json` wrote, the journal of a run, and with --as what plugins read.
    """
    from trnbench.run.importing import find_importer, read_given, read_runs
    from trnbench.store.store import Store
    from trnbench.store.tag import checked_tags

    tags = checked_tags(labels)
    importer = find_importer(shared.registry, name)
    found = [
        run
        for each in file
        for run in read_runs(importer, read_given(None if each == STDOUT else each), str(each), anyway=anyway)
    ]
    with Store(shared.store_path) as store:
        store.save(*found, tags=tags)
        for run in found:
            click.echo(run.id)
        cases = sum(len(run.measurements) for run in found)
        runs = "run" if len(found) == 1 else "runs"
        say(f"{len(found)} {runs} with {cases:,} cases put into {store.path}", level=0)
