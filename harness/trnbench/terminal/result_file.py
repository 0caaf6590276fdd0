"""Files that runs are written to: pages and other formats."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trnbench.errors import TrnbenchError
from trnbench.run.output_file import START, write_whole
from trnbench.run.render import render_bytes
from trnbench.store.store import RunSummary, Store
from trnbench.terminal.output import abandon, say
from trnbench.terminal.target import STDOUT

if TYPE_CHECKING:
    from trnbench.extension import Format
    from trnbench.results.run import Run
    from trnbench.terminal.context import Session

_TITLE = rb"<title>trnbench ([^<]*)</title>"


def replacing(target: Path, runs: Sequence[Run]) -> str:
    """What a person is told when the page of `runs` takes the place of another; "" where it does not."""
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
    for run in runs:
        if run.cut_short:
            say(f"warning: run {run.id} was cut short: {run.cut_short}")
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


def run_before(store: Path | None, run: Run) -> Run | None:
    """The newest finished run that is older, of the same backend, evidence and peak policy, and has a system
    and a case of `run`; None where there is none. A store that cannot be read has none to show."""
    try:
        with Store(store) as opened:
            before = id_before(opened.list(), run, run.systems)
            found = opened.load(before) if before else None
    except TrnbenchError:
        return None
    return found if found is not None and share_a_case(found, run) else None


def id_before(known: Iterable[RunSummary], run: Run | RunSummary, systems: Iterable[str]) -> str:
    """That run's id, by columns alone: whether they share a case is not looked at. "" where there is none."""
    older = [
        each
        for each in known
        if each.created < run.created
        and each.id != run.id
        and each.state == "done"
        and (each.backend, each.grade, str(each.policy)) == (run.backend, run.grade, str(run.policy))
        and set(each.instances) & set(systems)
    ]
    return max(older, key=lambda each: each.created).id if older else ""


def share_a_case(before: Run, run: Run) -> bool:
    if any(old.case == new.case for old, new in zip(before.measurements, run.measurements, strict=False)):
        return True  # most runs have their cases in one order
    known = {each.id for each in before.measurements}
    return any(each.id in known for each in run.measurements)
