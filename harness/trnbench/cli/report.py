"""`trnbench report`: the HTML page of stored runs, from the store alone."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trnbench.cli.context import Session
from trnbench.cli.output import abandon, emit_json, say
from trnbench.cli.target import STDOUT, check_name, page_name_of
from trnbench.errors import TrnbenchError, UsageError
from trnbench.results.sample import SAMPLE
from trnbench.results.schema import json_schema
from trnbench.run.output_file import START, check_writable, write_whole
from trnbench.run.render import find_format, find_part, formats, render_bytes
from trnbench.store.store import Store
from trnbench.store.tag import LATEST

if TYPE_CHECKING:
    from trnbench.cli.context import Session
    from trnbench.extension import Format
    from trnbench.results.run import Run


_TITLE = rb"<title>trnbench ([^<]*)</title>"


def load_runs(shared: Session, refs: Sequence[str], *, sample: int = 0) -> tuple[Run, ...]:
    """The stored runs that `refs` name, the latest one for none; of each a sample of so many cases, if any.
    Raises `UnknownName`, `StoreError`."""
    with Store(shared.store_path) as store:
        return tuple(
            store.load(run_id, sample=sample)
            for run_id in dict.fromkeys(map(store.resolve, refs or (LATEST,)))
        )


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
            older = [
                each
                for each in opened.list()
                if each.created < run.created
                and each.id != run.id
                and each.state == "done"
                and (each.backend, each.grade, each.policy) == (run.backend, run.grade, str(run.policy))
                and set(each.instances) & set(run.systems)
            ]
            if not older:
                return None
            found = opened.load(max(older, key=lambda each: each.created).id)
    except TrnbenchError:
        return None
    known = {each.id for each in found.measurements}
    return found if any(each.id in known for each in run.measurements) else None


def report(
    shared: Session,
    /,
    *,
    runs: tuple[str, ...],
    output: Path | None,
    sample: int | None,
    part: str | None,
    force: bool,
) -> None:
    """Write the HTML report of stored runs (the latest one unless named) and print its path."""
    if part is not None:
        chosen = find_part(shared.registry, part, "" if output is None or output == STDOUT else output.suffix)
        target = output or STDOUT
        if target != STDOUT:
            check_writable(target, force=force)
        put(shared, load_runs(shared, runs), chosen, target)
        return
    if output is not None and output != STDOUT:
        check_name(output)
        check_writable(output, force=force)
    format = find_format(shared.registry, "html")
    stored = load_runs(shared, runs, sample=sample or 0)
    for each in stored if sample else ():
        for note in each.notes:
            if note.startswith(SAMPLE):
                say(f"run {each.id}: {note}", level=0)
    if output is None:
        output = page_name_of(stored, shared.registry)
        check_writable(output, force=force)
    put(shared, stored, format, output)


SCHEMA = "schema"
"""What `export --as` takes beside formats: the JSON Schema of a run."""


def export(
    shared: Session, /, *, runs: tuple[str, ...], name: str | None, output: Path | None, force: bool
) -> None:
    """Write stored runs (the latest one unless named) as JSON, CSV and other formats."""
    output = output or STDOUT
    if name == SCHEMA:
        _schema(output, force=force)
        return
    format = find_format(shared.registry, name or _by_suffix(shared, output))
    if output != STDOUT:
        check_writable(output, force=force)
    put(shared, load_runs(shared, runs), format, output)


def _schema(output: Path, *, force: bool) -> None:
    if output == STDOUT:
        emit_json(json_schema())
        return
    check_writable(output, force=force)
    write_whole(output, json.dumps(json_schema(), indent=2).encode() + b"\n")
    click.echo(str(output))


def _by_suffix(shared: Session, output: Path) -> str:
    """The format that a file's name asks for; JSON for stdout. Raises `UsageError`."""
    if output == STDOUT:
        return "json"
    known = formats(shared.registry)
    fitting = [each for each in known.values() if output.name.lower().endswith(each.suffix)]
    if fitting:
        return max(fitting, key=lambda each: len(each.suffix)).name
    raise UsageError(
        f"the name {output.name!r} does not say which format it is to have",
        cause=f"known endings: {', '.join(sorted({each.suffix for each in known.values()}))}",
        try_=f"trnbench export --as json -o {output}",
    )
