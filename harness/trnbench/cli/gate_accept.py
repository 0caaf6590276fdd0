"""`trnbench gate accept`: this run is what later ones are held against."""

from __future__ import annotations

from pathlib import Path

import click

from trnbench.cli.context import Session, session
from trnbench.cli.output import say
from trnbench.cli.store_names import complete_runs
from trnbench.cli.target import force_option
from trnbench.errors import UsageError

DEFAULT = "trnbench-baseline.json"
# As in trnbench.compare.gate.baseline, which --help does not import: msgspec comes with it.


@click.command()
@click.argument("run", default="latest", shell_complete=complete_runs)
@click.option("--why", required=True, metavar="TEXT", help="Why it is good enough; kept in the file.")
@click.option("--by", default="", metavar="NAME", help="Who says so; nobody is named unless you do.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path(DEFAULT),
    metavar="FILE",
    help=f"Where it goes.  [default: ./{DEFAULT}]",
)
@force_option
@session
def accept(shared: Session, /, *, run: str, why: str, by: str, output: Path, force: bool) -> None:
    """Write RUN as the baseline, with who accepted it, when and why, and print its path.

    What was accepted before stays listed in the file.
    """
    from trnbench.compare.gate.accepting import accepted
    from trnbench.compare.gate.baseline import written
    from trnbench.compare.reference import found_run
    from trnbench.run.writing import check_writable, write_whole
    from trnbench.store.store import Store

    if not why.strip():
        raise UsageError(
            "--why is empty",
            cause="whoever reads the baseline later has to know why it was accepted",
            try_="--why 'the new compiler is slower here, and known'",
        )
    with Store(shared.store_path) as store:
        found = found_run(run, store)
    baseline = accepted(found, output, why=why, by=by, force=force)
    check_writable(output, force=True)  # that it is a baseline has been seen
    write_whole(output, written(baseline))
    click.echo(str(output))
    bad = sum(count for status, count in found.counts().items() if str(status) in ("failed", "suspect"))
    if bad:
        say(f"warning: {bad:,} of its cases failed or are suspect: the gate will not call them new", level=0)
