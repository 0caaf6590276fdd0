"""Runs out of the store and into files: where they go is checked before the work starts."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trnbench.cli.bundle import bundle
from trnbench.cli.output import abandon, say
from trnbench.cli.page_name import REPORT, STEM, page_name
from trnbench.cli.target import STDOUT, force_option
from trnbench.errors import UsageError

if TYPE_CHECKING:
    from trnbench.cli.context import Session
    from trnbench.results.run import Run
    from trnbench.run.selection import Selection
    from trnbench.section import Format

report_options = bundle(
    click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=f"Where the report goes.  [default: ./{REPORT}; of a selection ./{STEM}-SELECTION.html]",
    ),
    force_option,
    click.option("--no-report", is_flag=True, help="Keep the run, write no report."),
)
"""Of commands that end in a report: `output`, `force` and `no_report`."""

_TITLE = rb"<title>trnbench ([^<]*)</title>"


def report_target(target: Path, *, force: bool) -> Path:
    """A file that can take the HTML report. Raises `UsageError`."""
    from trnbench.run.writing import check_writable

    if target == STDOUT:
        raise UsageError(
            "the report cannot go to stdout here",
            cause="stdout carries the summary of the run",
            try_="trnbench run --no-report, then: trnbench report -o -",
        )
    check_name(target)
    check_writable(target, force=force)
    return target


def own_target(backend: str, selection: Selection, *, force: bool) -> Path:
    """The file of the report in the working folder where none is named. Raises `UsageError`."""
    target = report_target(page_name(backend, selection), force=force)
    if target != Path(REPORT):
        say(f"the report of this selection goes to {target}", level=0)
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


def load_runs(shared: Session, refs: Sequence[str], *, sample: int = 0) -> tuple[Run, ...]:
    """The stored runs that `refs` name, the latest one for none; of each a sample of so many cases, if any.
    Raises `UnknownName`, `StoreError`."""
    from trnbench.store.store import Store
    from trnbench.store.tag import LATEST

    with Store(shared.store_path) as store:
        return tuple(
            store.load(run_id, sample=sample)
            for run_id in dict.fromkeys(map(store.resolve, refs or (LATEST,)))
        )


def replacing(target: Path, runs: Sequence[Run]) -> str:
    """What a person is told when the page of `runs` takes the place of another; "" where it does not."""
    from trnbench.run.writing import START

    try:
        with target.open("rb") as stream:
            start = stream.read(START) if target.is_file() else b""
    except OSError:
        return ""
    title = re.search(_TITLE, start)
    earlier = title[1].decode(errors="replace") if title else ""
    page = start.lstrip().lower().startswith(b"<!doctype html")
    if not page or earlier == ", ".join(run.id for run in runs):
        return ""
    return f"{target}: the page of {f'run {earlier}' if earlier else 'an earlier run'} is replaced"


def put(shared: Session, runs: Sequence[Run], format: Format, output: Path) -> None:
    """Write `runs` to the file and print its path, or write them to stdout."""
    from trnbench.cli.before import run_before
    from trnbench.run.render import render_bytes
    from trnbench.run.writing import write_whole

    before = run_before(shared.store_path, runs[0]) if format.page and len(runs) == 1 else None
    data = render_bytes(runs, format, shared.registry, before=before)
    if output == STDOUT:
        _to_stdout(data)
        return
    told = replacing(output, runs)
    write_whole(output, data)
    if told:
        say(told, level=0)
    click.echo(str(output))


def _to_stdout(data: bytes) -> None:
    """Bytes as they are; a reader that went away is not an error."""
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        abandon(sys.stdout)
