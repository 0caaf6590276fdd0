"""`trnbench spec show`: every figure of one instance, device or core."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from trnbench.cli.context import Session, session
from trnbench.cli.facts import facts_of, facts_option
from trnbench.cli.names import complete_systems
from trnbench.cli.output import Column, emit, emit_json, format_option, write
from trnbench.cli.peaks import peak_option, policy_of
from trnbench.cli.spec.options import scope_of, scope_option

if TYPE_CHECKING:
    from trnbench.cli.spec.figures import Row
    from trnbench.cli.spec.subject import Subject

_FACTS: tuple[Column | str, ...] = (
    "metric",
    Column("printed", keep=1),
    "normalised",
    "scope",
    "direction",
    Column("evidence", keep=2),
    Column("source", keep=2),
    "locator",
    Column("superseded_by", "superseded by"),
)
_PEAKS: tuple[Column | str, ...] = (
    "metric",
    "scope",
    Column("peak", keep=2),
    Column("evidence", keep=2),
    Column("source", keep=2),
    "formula",
    Column("engine_bound", "by the clocks"),
    "alternatives",
    "note",
)
_ASSUMPTIONS: tuple[Column | str, ...] = (
    "id",
    "metric",
    Column("assumed", keep=1),
    "low",
    "high",
    Column("reason", keep=1),
)
_SOURCES: tuple[Column | str, ...] = ("source", "document", "version", "date", "seed", "path")
_CSV = (
    *("table", "subject", "metric", "printed", "value", "low", "high", "unit", "scope", "direction"),
    *("evidence", "source", "locator", "formula", "policy", "superseded_by", "note", "id"),
)


@click.command("show")
@click.argument("name", metavar="INSTANCE|DEVICE|CORE", shell_complete=complete_systems)
@peak_option
@scope_option
@facts_option
@format_option
@session
def show(state: Session, name: str, policy: str, scope: str, facts: tuple[Path, ...], format: str) -> None:
    """Show every figure of an instance, device or core: as printed and normalised, with scope,
    evidence, source and place; what replaced it; assumptions; and the peak that the policy chooses,
    with its alternatives.

    Example: trnbench spec show trn2-16.48xlarge --peak latest
    """
    from trnbench.cli.spec.figures import choices, fact_row, peak_row
    from trnbench.cli.spec.subject import find_subject

    subject = find_subject(state.registry, name, facts_of(state, facts))
    chosen = policy_of(state, policy)
    level = scope_of(scope, subject.scope)
    fact_rows = [fact_row(fact) for fact in subject.facts]
    peak_rows = [peak_row(each, choice) for each, choice in choices(subject.system, level, chosen)]
    assumption_rows = list(_assumptions(subject))
    source_rows = list(_sources(subject, [*fact_rows, *peak_rows]))
    if format == "json":
        emit_json(
            {
                "name": subject.name,
                "title": subject.title,
                "policy": chosen,
                "facts": fact_rows,
                "assumptions": assumption_rows,
                "peaks": peak_rows,
                "sources": source_rows,
            }
        )
        return
    tables: Sequence[tuple[str, str, Sequence[Column | str], list[Row]]] = (
        ("fact", f"{subject.name} ({subject.title}): documented", _FACTS, fact_rows),
        ("assumption", "Assumed, where no document has a figure", _ASSUMPTIONS, assumption_rows),
        ("peak", f"Peaks per {level} by policy {chosen}", _PEAKS, peak_rows),
        ("source", "Sources", _SOURCES, source_rows),
    )
    if format == "csv":
        emit([{"table": kind, **row} for kind, _, _, rows in tables[:3] for row in rows], _CSV, "csv")
        return
    shown = [table for table in tables if table[3]]
    for index, (_, title, columns, rows) in enumerate(shown):
        if index:
            write("\n")
        emit(rows, columns, format, title=title)


def _assumptions(subject: Subject) -> Iterable[Row]:
    from trnbench.facts.metric import METRICS

    instance = subject.system.instance
    parts = {"", instance.name, instance.parent, instance.device, instance.core}
    wanted = parts if subject.name == instance.name else {"", subject.name}
    for assumption in subject.system.book.assumptions.values():
        if assumption.subject in wanted:
            from trnbench.cli.spec.figures import normalised

            yield {
                "id": assumption.id,
                "metric": assumption.metric,
                "assumed": f"{assumption.printed} {assumption.printed_unit}".strip(),
                "low": normalised(assumption.low, assumption.metric),
                "high": normalised(assumption.high, assumption.metric),
                "reason": assumption.reason,
                "subject": assumption.subject,
                "printed": f"{assumption.printed} {assumption.printed_unit}".strip(),
                "value": assumption.value,
                "unit": METRICS[assumption.metric].unit,
                "evidence": "assumed",
                "note": assumption.reason,
            }


def _sources(subject: Subject, rows: Iterable[Row]) -> Iterable[Row]:
    book = subject.system.book
    for identifier in dict.fromkeys(str(row["source"]) for row in rows):
        source = book.sources.get(identifier)
        if source is not None:
            yield {
                "source": source.id,
                "document": source.document,
                "version": source.version,
                "date": source.date,
                "seed": source.seed,
                "path": source.path,
                "note": source.note,
            }
