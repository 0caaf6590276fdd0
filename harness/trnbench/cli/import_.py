"""`trnbench import`: runs and other tools' results out of files into the store."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trnbench.bounded import kinds
from trnbench.cli.context import Session, session
from trnbench.cli.names import complete_instances, complete_kernels
from trnbench.cli.number import NumberType
from trnbench.cli.output import say
from trnbench.cli.target import STDOUT
from trnbench.errors import UsageError

if TYPE_CHECKING:
    from trnbench.results.run import Run

GRADES = ("measured", "published")


@click.command("import")
@click.argument("file", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--from",
    "name",
    default="",
    metavar="FORMAT",
    help="What wrote it: nccl-tests, nccom-test, pytest-benchmark, or what a plugin reads.",
)
@click.option("--as", "grade", type=click.Choice(GRADES), help="Who made the numbers: you, or others.")
@click.option(
    "-i",
    "--instance",
    default="",
    metavar="NAME",
    shell_complete=complete_instances,
    help="The system they are of, where the file does not say.",
)
@click.option(
    "--kernel",
    default="",
    metavar="NAME",
    shell_complete=complete_kernels,
    help="The kernel they are of, where the file does not say.",
)
@click.option(
    "--ranks", type=NumberType(kinds.RANKS), default=0, metavar="N", help="Ranks of a collective, likewise."
)
@click.option("--by", default="", metavar="TEXT", help="Who measured them, or where they are published.")
@click.option("--label", "labels", multiple=True, metavar="TAG", help="Tag the stored runs; may be repeated.")
@click.option("--anyway", is_flag=True, help="Keep a run although its digest says that it was edited.")
@session
def import_(
    shared: Session,
    /,
    *,
    file: tuple[Path, ...],
    name: str,
    grade: str | None,
    instance: str,
    kernel: str,
    ranks: int,
    by: str,
    labels: tuple[str, ...],
    anyway: bool,
) -> None:
    """Put runs and results from files into the store, and print the ids; - reads standard input.

    Reads what `trnbench export --as json` wrote, the journal of a run, and with --from what other tools
    write: their results are judged by the documents like any other.
    """
    from trnbench.facts.peak import as_policy
    from trnbench.run.imported_run import Context, imported_run
    from trnbench.run.importing import OWN, find_importer, read_given, read_runs
    from trnbench.store.store import Store
    from trnbench.store.tag import checked_tags

    tags = checked_tags(labels)
    importer = find_importer(shared.registry, name)
    if importer.name == OWN and (grade or instance or kernel or ranks or by):
        raise UsageError(
            "a run of trnbench says itself what its numbers are",
            cause="--as, -i, --kernel, --ranks and --by are for files of other tools",
            try_="--from FORMAT; trnbench list importers",
        )
    told = Context(
        grade=grade or "",
        instance=instance,
        kernel=kernel,
        ranks=ranks,
        by=by,
        policy=as_policy(shared.settings.policy),
    )
    read_in: list[Run] = []
    for each in file:
        data = read_given(None if each == STDOUT else each)
        made = partial(imported_run, data=data, name=importer.name, told=told, registry=shared.registry)
        read_in += read_runs(importer, data, str(each), anyway=anyway, told=made)
    with Store(shared.store_path) as store:
        store.save(*read_in, tags=tags)
        for run in read_in:
            click.echo(run.id)
        cases = sum(len(run.measurements) for run in read_in)
        runs = "run" if len(read_in) == 1 else "runs"
        say(f"{len(read_in)} {runs} with {cases:,} cases put into {store.path}", level=0)
