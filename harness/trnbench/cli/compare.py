"""`trnbench compare`: what changed from one run to another."""

from __future__ import annotations

from pathlib import Path

import click

from trnbench.bounded import kinds
from trnbench.cli.context import Session, session
from trnbench.cli.number import NumberType
from trnbench.cli.output import Column, emit, emit_json, format_option, say
from trnbench.cli.store_names import complete_runs
from trnbench.cli.target import STDOUT, force_option
from trnbench.errors import UsageError

COLUMNS = (
    Column("id", "case"),
    Column("before_shown", "before", "right", keep=1),
    Column("after_shown", "after", "right", keep=1),
    Column("change", align="right", keep=2),
    Column("interval", align="right"),
    Column("verdict", keep=2),
)
_CSV = (
    "system", "case", "metric", "unit", "before", "after", "effect", "low", "high", "p", "exact", "verdict",
    "why", "causes", "before_id", "after_id", "before_status", "after_status", "before_evidence",
    "after_evidence",
)  # fmt: skip


@click.command()
@click.argument("before", default="", shell_complete=complete_runs)
@click.argument("after", default="", shell_complete=complete_runs)
@click.option(
    "-k", "keyword", default="", metavar="EXPRESSION", help="Only these cases: 'gemm and not fp32'."
)
@click.option(
    "--a", "a", default="", metavar="TERMS", help="Cases of the first side: 'dtype=bf16,size>=4096'."
)
@click.option(
    "--b", "b", default="", metavar="TERMS", help="Cases of the second side: 'dtype=fp8,size>=4096'."
)
@click.option(
    "--threshold",
    type=NumberType(kinds.PERCENT),
    metavar="PER CENT",
    help="Call nothing faster or slower that differs by less: 3%.  [default: 3% of measured times, "
    "any difference of emulated ones]",
)
@click.option(
    "--across", is_flag=True, help="Compare numbers of two kinds too: evidence, scope, peaks, ranks."
)
@click.option(
    "--html",
    "page",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the report of both runs, with what changed, instead; - for stdout.",
)
@force_option
@click.option("--all", "every", is_flag=True, help="List cases that are exactly the same as well.")
@format_option
@session
def compare(
    shared: Session,
    /,
    *,
    before: str,
    after: str,
    keyword: str,
    a: str,
    b: str,
    threshold: float | None,
    across: bool,
    page: Path | None,
    force: bool,
    every: bool,
    format: str,
) -> None:
    """Say what changed from run BEFORE to run AFTER, case by case.

    A run is an id, the beginning of one, a tag, latest, latest~3, or a file. AFTER is the latest run unless
    named, BEFORE the one before that. With --a or --b and one run, two selections of that run.

    Measured cases are faster, slower, or show no difference, by samples of several processes; emulated ones
    differ exactly, with what differs of their inputs.
    """
    from trnbench.cli.comparing import change_row, closing, opening
    from trnbench.compare.comparison import compared
    from trnbench.compare.reference import found_run
    from trnbench.store.store import Store
    from trnbench.store.tag import LATEST

    same = bool(a or b) and not after
    if page is not None:
        _check_page(page, force=force, narrowed=bool(keyword or a or b or across or threshold is not None))
    with Store(shared.store_path) as store:
        first = found_run(before or (LATEST if same else f"{LATEST}~1"), store)
        second = first if same else found_run(after or LATEST, store)
    if page is not None:
        from trnbench.cli.reporting import put
        from trnbench.run.render import find_format

        put(shared, (first, second), find_format(shared.registry, "html"), page)
        return
    comparison = compared(
        first,
        second,
        threshold=threshold / 100.0 if threshold is not None else None,
        across=across,
        keyword=keyword,
        a=a,
        b=b,
    )
    rows = [change_row(each) for each in comparison.changes]
    if format == "json":
        emit_json({**_head(comparison), "changes": rows})
        return
    if format == "csv":
        emit(rows, _CSV, format)
        return
    for line in opening(comparison):
        say(line, level=0)
    shown = [
        row
        for row, each in zip(rows, comparison.changes, strict=True)
        if every or not (each.exact and not each.effect)
    ]
    if shown:
        emit(shown, COLUMNS, format)
    for line in closing(comparison):
        say(line, level=0)
    if len(shown) < len(rows):
        say(f"{len(rows) - len(shown):,} of them are exactly the same: --all lists them too", level=0)


def _check_page(page: Path, *, force: bool, narrowed: bool) -> None:
    """Raises `UsageError` where the page cannot be written, or would not show what was asked for."""
    from trnbench.cli.reporting import check_name
    from trnbench.run.writing import check_writable

    if narrowed:
        raise UsageError(
            "--html writes the page of two whole runs",
            cause="-k, --a, --b, --across and --threshold are of the table alone",
            try_="trnbench compare BEFORE AFTER --html FILE, and filter on the page",
        )
    if page != STDOUT:
        check_name(page)
        check_writable(page, force=force)


def _head(found: object) -> dict[str, object]:
    """All of a comparison but its rows."""
    from trnbench.cli.output import plain

    told = plain(found)
    assert isinstance(told, dict)
    return {name: value for name, value in told.items() if name != "changes"}
