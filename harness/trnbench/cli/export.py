"""`trnbench export`: stored runs in other formats, and the schema of the JSON one."""

from __future__ import annotations

from pathlib import Path

import click

from trnbench.cli.context import Session, session
from trnbench.cli.names import complete_formats
from trnbench.cli.output import emit_json
from trnbench.cli.reporting import load_runs, put
from trnbench.cli.store_names import complete_runs
from trnbench.cli.target import STDOUT, output_option
from trnbench.errors import UsageError


@click.command()
@click.argument("run", nargs=-1, shell_complete=complete_runs)
@click.option(
    "--as",
    "name",
    metavar="FORMAT",
    shell_complete=complete_formats,
    help="json, csv, parquet, openmetrics, pytest-benchmark, …: trnbench list formats.",
)
@output_option
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of a run instead.")
@session
def export(
    shared: Session, /, *, run: tuple[str, ...], name: str | None, output: Path, force: bool, schema: bool
) -> None:
    """Write stored runs (the latest one unless named) as JSON, CSV and other formats."""
    from trnbench.run.render import find_format
    from trnbench.run.writing import check_writable

    if schema:
        _schema(output, force=force)
        return
    format = find_format(shared.registry, name or _by_suffix(shared, output))
    if output != STDOUT:
        check_writable(output, force=force)
    put(shared, load_runs(shared, run), format, output)


def _schema(output: Path, *, force: bool) -> None:
    from trnbench.results.schema import json_schema
    from trnbench.run.writing import check_writable, write_whole

    if output == STDOUT:
        emit_json(json_schema())
        return
    import json

    check_writable(output, force=force)
    write_whole(output, json.dumps(json_schema(), indent=2).encode() + b"\n")
    click.echo(str(output))


def _by_suffix(shared: Session, output: Path) -> str:
    """The format that a file's name asks for; JSON for stdout. Raises `UsageError`."""
    if output == STDOUT:
        return "json"
    from trnbench.run.render import formats

    known = formats(shared.registry)
    fitting = [each for each in known.values() if output.name.lower().endswith(each.suffix)]
    if fitting:
        return max(fitting, key=lambda each: len(each.suffix)).name
    raise UsageError(
        f"the name {output.name!r} does not say which format it is to have",
        cause=f"known endings: {', '.join(sorted({each.suffix for each in known.values()}))}",
        try_=f"trnbench export --as json -o {output}",
    )
