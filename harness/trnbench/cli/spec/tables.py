"""`trnbench spec show`: every figure of one instance, device or core."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from trnbench.cli.spec.figures import (
    Subject,
    choices,
    fact_row,
    find_subject,
    normalised,
    peak_row,
    peak_value,
    scope_of,
)
from trnbench.facts.fact import Peak, PeakPolicy, Scope
from trnbench.facts.metric import METRICS
from trnbench.generation import System
from trnbench.peaks import choose_peak
from trnbench.terminal.cell import SPARE, VITAL, WANTED, Column, Columns
from trnbench.terminal.context import Session
from trnbench.terminal.output import Row, emit, emit_json, say, write

_FACTS: Columns = (
    "metric",
    Column("printed", keep=WANTED),
    "normalised",
    "scope",
    "direction",
    Column("evidence", keep=VITAL),
    Column("source", keep=VITAL),
    "locator",
    Column("superseded_by", "superseded by"),
)
_PEAKS: Columns = (
    "metric",
    "scope",
    Column("peak", keep=VITAL),
    Column("evidence", keep=VITAL),
    Column("source", keep=VITAL),
    "formula",
    Column("engine_bound", "by the clocks"),
    "alternatives",
    "note",
)
_ASSUMPTIONS: Columns = (
    "id",
    "metric",
    Column("assumed", keep=WANTED),
    "low",
    "high",
    Column("reason", keep=WANTED),
)
_SOURCES: Columns = ("source", "document", "version", "date", "seed", "path")
_CSV = (
    *("table", "subject", "metric", "printed", "value", "low", "high", "unit", "scope", "direction"),
    *("evidence", "source", "locator", "formula", "policy", "superseded_by", "note", "id"),
)


def show(
    state: Session, /, *, system: str, policy: str | None, scope: str, facts: tuple[Path, ...], format: str
) -> None:
    """Every figure of an instance, device or core, and the peaks that the policy chooses."""
    subject = find_subject(state.registry, system, state.facts_of(facts))
    chosen = state.policy_of(policy)
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
    tables: Sequence[tuple[str, str, Columns, list[Row]]] = (
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
    instance = subject.system.instance
    parts = {"", instance.name, instance.parent, instance.device, instance.core}
    wanted = parts if subject.name == instance.name else {"", subject.name}
    for assumption in subject.system.book.assumptions.values():
        if assumption.subject in wanted:
            printed = f"{assumption.printed} {assumption.printed_unit}".strip()
            yield {
                "id": assumption.id,
                "metric": assumption.metric,
                "assumed": printed,
                "low": normalised(assumption.low, assumption.metric),
                "high": normalised(assumption.high, assumption.metric),
                "reason": assumption.reason,
                "subject": assumption.subject,
                "printed": printed,
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
            told = ("document", "version", "date", "seed", "path", "note")
            yield {"source": source.id, **{name: getattr(source, name) for name in told}}


_COLUMNS: Columns = (
    "instance",
    Column("generation", keep=SPARE),
    Column("scope", keep=SPARE),
    Column("devices", align="right", keep=WANTED),
    Column("cores", align="right"),
    Column("bf16", "BF16", keep=VITAL),
    Column("fp8", "FP8 or MXFP8"),
    Column("hbm_capacity", "HBM"),
    Column("hbm_bandwidth", "HBM bandwidth", keep=VITAL),
    Column("neuronlink", "NeuronLink per device"),
    Column("efa", "EFA"),
    Column("aliases", show=lambda names: " ".join(names)),
)


def list_(state: Session, policy: str | None, facts: tuple[Path, ...], format: str) -> None:
    """List all systems: what they are made of, other names, and headline peaks with their sources."""
    chosen, extra = state.policy_of(policy), state.facts_of(facts)
    names = state.registry.readable(state.registry.instance_names())
    rows = [_row(system, chosen) for system in state.registry.systems(names, extra)]
    emit(rows, _COLUMNS, format)
    if format == "table":
        say(f"figures of the whole system by policy {chosen}; D documented, F derived by a formula")


def _row(system: System, policy: PeakPolicy) -> Row:
    scope = system.instance.scope
    figures = {
        "bf16": _figure(system, policy, "peak_flops", scope, "bf16"),
        "fp8": _figure(system, policy, "peak_flops", scope, "mxfp8")
        or _figure(system, policy, "peak_flops", scope, "fp8"),
        "hbm_capacity": _figure(system, policy, "hbm_capacity", scope),
        "hbm_bandwidth": _figure(system, policy, "hbm_bandwidth", scope),
        "neuronlink": _figure(system, policy, "neuronlink_bandwidth", Scope.DEVICE),
        "efa": _figure(system, policy, "efa_bandwidth", scope),
    }
    return {
        "instance": system.name,
        "generation": system.generation.name,
        "scope": str(scope),
        "devices": system.devices,
        "cores": system.devices * system.cores_per_device,
        "hosts": system.hosts,
        "by_default": system.instance.default,
        **{name: _cell(peak) for name, peak in figures.items()},
        "aliases": list(system.instance.aliases),
        "title": system.instance.title,
        "policy": str(policy),
        "figures": figures,
    }


def _figure(system: System, policy: PeakPolicy, metric: str, scope: Scope, dtype: str = "") -> Peak | None:
    choice = choose_peak(system, metric=metric, scope=scope, dtype=dtype, policy=policy)
    return choice.chosen if choice is not None else None


def _cell(peak: Peak | None) -> str | None:
    """ "3.36 PFLOPS [D seed-trn1]": the figure, how it came to be, and where it is printed."""
    if peak is None:
        return None
    return f"{peak_value(peak)} [{'D' if peak.evidence == 'documented' else 'F'} {peak.source}]"
