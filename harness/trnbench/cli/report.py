"""`trnbench report`: the HTML page of stored runs, from the store alone."""

from __future__ import annotations

from pathlib import Path

import click

from trnbench.bounded import kinds
from trnbench.cli.context import Session, session
from trnbench.cli.number import NumberType
from trnbench.cli.output import say
from trnbench.cli.page_name import REPORT, STEM, page_name_of
from trnbench.cli.reporting import check_name, load_runs, put
from trnbench.cli.store_names import complete_runs
from trnbench.cli.target import STDOUT, force_option


@click.command()
@click.argument("run", nargs=-1, shell_complete=complete_runs)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"Where it goes; - for stdout.  [default: as the run had it, ./{REPORT} or ./{STEM}-SELECTION.html]",
)
@click.option(
    "--sample",
    type=NumberType(kinds.SAMPLE),
    metavar="N",
    help="Put at most N cases of each run on the page, and say what was left out.",
)
@click.option(
    "--part",
    metavar="NAME",
    help="One part of the page alone (headline, scoreboard, …) as Markdown on stdout; with -o FILE.svg as a "
    "drawing, with -o FILE.md as Markdown.",
)
@force_option
@session
def report(
    shared: Session,
    /,
    *,
    run: tuple[str, ...],
    output: Path | None,
    sample: int | None,
    part: str | None,
    force: bool,
) -> None:
    """Write the HTML report of stored runs (the latest one unless named) and print its path."""
    from trnbench.results.sample import SAMPLE
    from trnbench.run.render import find_format, find_part
    from trnbench.run.writing import check_writable

    if part is not None:
        chosen = find_part(shared.registry, part, "" if output is None or output == STDOUT else output.suffix)
        target = output or STDOUT
        if target != STDOUT:
            check_writable(target, force=force)
        put(shared, load_runs(shared, run), chosen, target)
        return
    if output is not None and output != STDOUT:
        check_name(output)
        check_writable(output, force=force)
    format = find_format(shared.registry, "html")
    runs = load_runs(shared, run, sample=sample or 0)
    for each in runs if sample else ():
        for note in each.notes:
            if note.startswith(SAMPLE):
                say(f"run {each.id}: {note}", level=0)
    if output is None:
        output = page_name_of(runs, shared.registry)
        check_writable(output, force=force)
    put(shared, runs, format, output)
