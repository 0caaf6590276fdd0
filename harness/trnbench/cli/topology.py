"""`trnbench topology`: the graph of a system shown, checked and exported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trnbench.cli.bundle import bundle
from trnbench.cli.context import Session, session
from trnbench.cli.facts import facts_of, facts_option
from trnbench.cli.link_figures import neuronlink_direction_option, trn3_links_option
from trnbench.cli.names import complete_systems
from trnbench.cli.output import Column, clean, emit, emit_json, format_option, paragraph, write
from trnbench.cli.target import STDOUT, output_option
from trnbench.cli.terminal import width

if TYPE_CHECKING:
    from trnbench.generation import System
    from trnbench.topology.graph import Topology
    from trnbench.topology.listing import Table

_SENTENCES = 100
"""Columns that a list of sentences takes at most."""

KINDS = ("text", "json", "dot", "svg")

graph_options = bundle(
    facts_option,
    neuronlink_direction_option,
    trn3_links_option,
    click.option("--cores", is_flag=True, help="Open every device into its NeuronCores."),
)
"""The readings a graph is built by."""


@click.group()
def topology() -> None:
    """Show, check and export the graph of a system."""


@topology.command("show")
@click.argument("instance", shell_complete=complete_systems)
@click.option("--all", "every", is_flag=True, help="Show every device, however many.")
@graph_options
@format_option
@session
def show_(state: Session, /, *, instance: str, every: bool, format: str, **options: Any) -> None:
    """Show shape, neighbours, links with the origin of their figures, and what follows from them.

    A cluster takes a size: trn1-ultracluster:64.
    """
    from trnbench.topology.listing import tables
    from trnbench.topology.properties import properties
    from trnbench.topology.shape import shape_words
    from trnbench.topology.summary import summarise

    graph = _graph(_system(state, instance, options), options)
    summary = properties(graph)
    sections = tables(graph, summary, every=every)
    if format == "json":
        named = {
            table.name: [dict(zip(table.columns, row, strict=True)) for row in table.rows]
            for table in sections
        }
        emit_json({**summarise(graph, summary), "tables": named})
        return
    if format == "csv":
        first = sections[0]
        emit([dict(zip(first.columns, row, strict=True)) for row in first.rows], first.columns, "csv")
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
        rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        emit(rows, [Column(column) for column in table.columns], format, title=table.title)
        if table.note:
            paragraph(table.note)
        write("\n")


def _bullets(table: Table, format: str) -> None:
    """Sentences as a list: in a table they would run off the screen."""
    import textwrap

    write(f"**{table.title}**\n\n" if format == "md" else f"{table.title}\n")
    for (sentence,) in table.rows:
        room = 10_000 if format == "md" else min(width() or _SENTENCES, _SENTENCES)
        write(
            clean(textwrap.fill(sentence, room, initial_indent="- ", subsequent_indent="  "), keep="\n")
            + "\n"
        )


@topology.command("check")
@click.argument("instance", nargs=-1, shell_complete=complete_systems)
@click.option("--failures", is_flag=True, help="Leave out what is well.")
@graph_options
@format_option
@session
def check_(
    state: Session, /, *, instance: tuple[str, ...], failures: bool, format: str, **options: Any
) -> int:
    """Check graphs against their documents: every system unless named.

    Symmetry, connectivity, counts, sums of links, printed neighbour tables, names such as 4D
    hypercube. Exits with 1 when a check fails.
    """
    from trnbench.errors import ExitCode
    from trnbench.topology.checks import Verdict, check, failed
    from trnbench.topology.expected import expected_of

    names = instance or state.registry.instance_names()
    systems = [_system(state, name, options) for name in names]  # a misspelt name stops before any work
    rows: list[dict[str, object]] = []
    bad = False
    for system in systems:
        about = system.instance
        expected = expected_of(
            system.book,
            about.name,
            about.device,
            parent=about.parent if about.sizable else "",
            size=system.size,
            cores=bool(options["cores"]),
        )
        # Options another system's builder knows are left out, so that one call can check them all.
        checks = check(_graph(system, options, strict=bool(instance)), expected)
        bad = bad or failed(checks)
        rows += [
            {"instance": system.name, "check": each.name, "verdict": str(each.verdict), "detail": each.detail}
            for each in checks
            if not failures or each.verdict is not Verdict.OK
        ]
    emit(
        rows,
        ("instance", Column("check", keep=2), Column("verdict", keep=2), Column("detail", keep=1)),
        format,
    )
    return ExitCode.GATE if bad else ExitCode.OK


@topology.command("export")
@click.argument("instance", shell_complete=complete_systems)
@click.option(
    "--as", "kind", type=click.Choice(KINDS), help="What to write.  [default: by the suffix of FILE, or text]"
)
@output_option
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@graph_options
@session
def export_(
    state: Session, /, *, instance: str, kind: str | None, output: Path, force: bool, **options: Any
) -> None:
    """Write a graph as text, JSON, Graphviz DOT or an SVG picture.

    JSON holds everything and can be read again: trnbench.topology.exchange.from_json.
    """
    from trnbench.run.writing import check_writable, write_whole

    system = _system(state, instance, options)
    if output != STDOUT:
        check_writable(output, force=force)
    text = _written(_graph(system, options), kind or _by_suffix(output))
    if output == STDOUT:
        write(text)
    else:
        write_whole(output, text.encode())


def _by_suffix(output: Path) -> str:
    found = {".json": "json", ".dot": "dot", ".gv": "dot", ".svg": "svg"}.get(output.suffix.lower())
    return found or "text"


def _written(graph: Topology, kind: str) -> str:
    if kind == "json":
        from trnbench.topology.exchange import to_json

        return to_json(graph).decode()
    if kind == "dot":
        from trnbench.topology.dot import dot

        return dot(graph)
    if kind == "svg":
        from trnbench.topology.draw import svg

        return svg(graph, standalone=True)
    from trnbench.topology.listing import text

    return text(graph)


def _system(state: Session, name: str, options: dict[str, Any]) -> System:
    return state.registry.system(name, facts_of(state, options["facts"]))


def _graph(system: System, options: dict[str, Any], *, strict: bool = True) -> Topology:
    """The graph with the options given. Raises `UsageError` for one its builder does not know."""
    import inspect

    from trnbench.errors import UsageError
    from trnbench.lazy import resolve

    given = {name: options[name] for name in ("neuronlink_direction", "trn3_links") if options[name]}
    if options["cores"]:
        given["cores"] = True
    known = inspect.signature(resolve(system.instance.topology)).parameters
    open_ended = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in known.values())
    for name in list(given):
        if name in known or open_ended:
            continue
        if strict:
            taken = [f"--{each.replace('_', '-')}" for each in list(known)[1:]]
            raise UsageError(
                f"the graph of {system.name} takes no --{name.replace('_', '-')}",
                cause=f"it takes {', '.join(taken)}" if taken else "it takes no options",
                try_=f"trnbench topology show {system.name}",
            )
        del given[name]
    return system.topology(**given)
