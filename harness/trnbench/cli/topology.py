"""`trnbench topology`: the graph of a system shown, checked and exported."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trnbench.errors import ExitCode, TrnbenchError, UsageError
from trnbench.run.output_file import check_writable, write_whole
from trnbench.terminal.cell import VITAL, WANTED, Column, clean
from trnbench.terminal.context import Session
from trnbench.terminal.output import emit, emit_json, paragraph, write
from trnbench.terminal.screen import width
from trnbench.terminal.target import STDOUT
from trnbench.terminal.word_values import BUILDERS, readings_of
from trnbench.topology.checks import Check, Verdict, check_topology, expected_of, failed
from trnbench.topology.draw import dot, svg
from trnbench.topology.graph import Topology, shape_words, to_json
from trnbench.topology.listing import Table, tables, text
from trnbench.topology.properties import properties, summarise

if TYPE_CHECKING:
    from trnbench.generation import System


_SENTENCES = 100
"""Columns that a list of sentences takes at most."""


def show(state: Session, /, *, system: str, every: bool, format: str, **options: Any) -> None:
    """Show shape, neighbours, links with the origin of their figures, and what follows from them."""
    graph = _graph(_system(state, system, options), options)
    summary = properties(graph)
    sections = tables(graph, summary, every=every)
    if format == "json":
        named = {table.name: _rows(table) for table in sections}
        emit_json({**summarise(graph, summary), "tables": named})
        return
    if format == "csv":
        first = sections[0]
        emit(_rows(first), first.columns, "csv")
        return
    title = f"{graph.name}: {shape_words(graph)}"
    if format == "md":
        write(f"# {title}\n\n")
    else:
        paragraph(f"{title}\n")
    for table in sections:
        if len(table.columns) == 1:
            _bullets(table, format)
            continue
        emit(_rows(table), table.columns, format, title=table.title)
        if table.note:
            paragraph(table.note)
        write("\n")


def _rows(table: Table) -> list[dict[str, str]]:
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def _bullets(table: Table, format: str) -> None:
    """Sentences as a list: in a table they would run off the screen."""
    write(f"**{table.title}**\n\n" if format == "md" else f"{table.title}\n")
    for (sentence,) in table.rows:
        room = 10_000 if format == "md" else min(width() or _SENTENCES, _SENTENCES)
        write(
            clean(textwrap.fill(sentence, room, initial_indent="- ", subsequent_indent="  "), keep="\n")
            + "\n"
        )


def check(state: Session, /, *, system: tuple[str, ...], failures: bool, format: str, **options: Any) -> int:
    """Check graphs against their documents: every system unless named."""
    names = system or state.registry.readable(state.registry.instance_names())
    systems = [_system(state, name, options) for name in names]  # a misspelt name stops before any work
    rows: list[dict[str, object]] = []
    bad = False
    for built_of in systems:
        about = built_of.instance
        expected = expected_of(
            built_of.book,
            about.name,
            about.device,
            parent=about.parent if about.sizable else "",
            size=built_of.size,
            cores=options["cores"] and built_of.takes("cores"),
        )
        # Options another system's builder knows are left out, so that one call can check them all.
        try:
            checks = check_topology(_graph(built_of, options, strict=bool(system)), expected)
        except TrnbenchError as error:
            if system:
                raise
            checks = [Check(name="builder", verdict=Verdict.FAILED, detail=error.what)]  # the others go on
        bad = bad or failed(checks)
        rows += [
            {
                "instance": built_of.name,
                "check": each.name,
                "verdict": str(each.verdict),
                "detail": each.detail,
            }
            for each in checks
            if not failures or each.verdict is not Verdict.OK
        ]
    emit(
        rows,
        (
            "instance",
            Column("check", keep=VITAL),
            Column("verdict", keep=VITAL),
            Column("detail", keep=WANTED),
        ),
        format,
    )
    return ExitCode.GATE if bad else ExitCode.OK


def export(
    state: Session, /, *, system: str, kind: str | None, output: Path | None, force: bool, **options: Any
) -> None:
    """Write a graph as text, JSON, Graphviz DOT or an SVG picture."""
    output = output or STDOUT
    built_of = _system(state, system, options)
    if output != STDOUT:
        kind = kind or _by_suffix(output)
        check_writable(output, force=force, example="topology.svg")
    text = _written(_graph(built_of, options), kind)
    if output == STDOUT:
        write(text)
    else:
        write_whole(output, text.encode())


def _by_suffix(output: Path) -> str:
    """What a file's name asks for: a device has none. Raises `UsageError` for a name of something else."""
    kinds = {".json": "json", ".dot": "dot", ".gv": "dot", ".svg": "svg", ".txt": "text", "": "text"}
    if output.suffix.lower() not in kinds:
        raise UsageError(
            f"the name {output.name!r} does not say what to write of the graph",
            cause=f"known endings: {', '.join(filter(None, kinds))}",
            try_=f"-o {output.with_suffix('.svg')}, or --graph text",
        )
    return kinds[output.suffix.lower()]


def _written(graph: Topology, kind: str | None) -> str:
    if kind == "json":
        return to_json(graph).decode()
    if kind == "dot":
        return dot(graph)
    if kind == "svg":
        return svg(graph, standalone=True)
    return text(graph)


def _system(state: Session, name: str, options: dict[str, Any]) -> System:
    return state.registry.system(name, state.facts_of(options["facts"]))


def _typed(option: str) -> str:
    """What is typed for an option of a builder."""
    readings = {option: f"--reading {name}" for name, option in BUILDERS.items()}
    return readings.get(option, "--open-cores" if option == "cores" else option)


def _graph(system: System, options: dict[str, Any], *, strict: bool = True) -> Topology:
    """The graph with the options given. Raises `UsageError` for one its builder does not know."""
    given: dict[str, Any] = dict(readings_of(options["readings"]))
    if options["cores"]:
        given["cores"] = True
    for name in list(given):
        if system.takes(name):
            continue
        if strict:
            taken = [_typed(each) for each in (*BUILDERS.values(), "cores") if system.takes(each)]
            raise UsageError(
                f"the graph of {system.name} takes no {_typed(name)}",
                cause=f"it takes {', '.join(taken)}" if taken else "it takes no options",
                try_=f"trnbench topology show {system.name}",
            )
        del given[name]
    return system.topology(**given)
