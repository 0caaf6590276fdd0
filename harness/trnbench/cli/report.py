"""`trnbench report`: the HTML page of stored runs, from the store alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from trnbench.errors import UsageError
from trnbench.results.json import json_schema
from trnbench.results.run import SAMPLE, Run
from trnbench.run.output_file import check_writable
from trnbench.run.render import find_format, find_part, formats
from trnbench.store.store import Store
from trnbench.store.tag import LATEST
from trnbench.terminal.context import Session
from trnbench.terminal.output import emit_json, mention
from trnbench.terminal.target import STDOUT, check_name, deliver, page_name_of, put


def load_runs(shared: Session, refs: Sequence[str], *, sample: int = 0) -> tuple[Run, ...]:
    """The stored runs that `refs` name, the latest one for none; of each a sample of so many cases, if any.
    Raises `UnknownName`, `StoreError`."""
    with Store(shared.store_path) as store:
        return tuple(
            store.load(run_id, sample=sample)
            for run_id in dict.fromkeys(map(store.resolve, refs or (LATEST,)))
        )


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
        if force and output is None:
            raise UsageError(
                "--force says nothing here",
                cause="a part goes to stdout unless a file is named",
                try_="leave it out, or --output FILE.md",
            )
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
                mention(f"run {each.id}: {note}")
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
    if output != STDOUT:
        check_writable(output, force=force, example="results.csv")
    format = find_format(shared.registry, name or _by_suffix(shared, output))
    put(shared, load_runs(shared, runs), format, output)


def _schema(output: Path, *, force: bool) -> None:
    if output == STDOUT:
        emit_json(json_schema())
        return
    check_writable(output, force=force, example="schema.json")
    deliver(output, json.dumps(json_schema(), indent=2).encode() + b"\n")


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
        try_=f"-o {output.with_suffix('.json')}, or --as FORMAT",
    )
