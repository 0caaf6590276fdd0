"""Runs out of the store and into files: where they go is checked before the work starts."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trnbench.cli.output import abandon
from trnbench.cli.target import STDOUT
from trnbench.errors import UsageError

if TYPE_CHECKING:
    from trnbench.cli.context import Session
    from trnbench.results.run import Run
    from trnbench.section import Format

REPORT = "trnbench-report.html"


def report_target(output: Path | None, *, force: bool) -> Path:
    """The file of the HTML report, in the working folder unless named. Raises `UsageError`."""
    from trnbench.run.writing import check_writable

    target = Path(REPORT) if output is None else output
    if target == STDOUT:
        raise UsageError(
            "the report cannot go to stdout here",
            cause="stdout carries the summary of the run",
            try_="trnbench run --no-report, then: trnbench report -o -",
        )
    check_name(target)
    check_writable(target, force=force)
    return target


def check_html(shared: Session) -> None:
    """Raises `UsageError` where no plugin writes HTML, before the work instead of after it."""
    from trnbench.run.render import formats

    if "html" not in formats(shared.registry):
        raise UsageError(
            "no plugin here writes HTML reports",
            cause="the reports were left out with --no-plugin, or failed to load: trnbench plugin list",
            try_="--no-report  keeps the run; trnbench report writes the page later",
        )


def check_name(target: Path) -> None:
    """A report is HTML: a name that says otherwise is a mistake. Raises `UsageError`."""
    if target.suffix.lower() in (".json", ".csv", ".md", ".db"):
        raise UsageError(
            f"{target} does not look like an HTML report",
            cause=f"the report is one HTML file, whatever its name, and this one ends in {target.suffix}",
            try_=f"trnbench export RUN --as {target.suffix[1:].lower()} -o {target}"
            if target.suffix.lower() != ".db"
            else f"--store {target}  before the command keeps results there",
        )


def load_runs(shared: Session, refs: Sequence[str]) -> tuple[Run, ...]:
    """The stored runs that `refs` name, the latest one for none. Raises `UnknownName`, `StoreError`."""
    from trnbench.store.store import Store
    from trnbench.store.tag import LATEST

    with Store(shared.store_path) as store:
        return tuple(store.load(run_id) for run_id in dict.fromkeys(map(store.resolve, refs or (LATEST,))))


def put(shared: Session, runs: Sequence[Run], format: Format, output: Path) -> None:
    """Write `runs` to the file and print its path, or write them to stdout."""
    from trnbench.run.render import render_bytes
    from trnbench.run.writing import write_whole

    data = render_bytes(runs, format, shared.registry)
    if output == STDOUT:
        _to_stdout(data)
        return
    write_whole(output, data)
    click.echo(str(output))


def _to_stdout(data: bytes) -> None:
    """Bytes as they are; a reader that went away is not an error."""
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        abandon(sys.stdout)
