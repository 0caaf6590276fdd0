"""`trnbench spec diff`: two systems, devices or cores side by side."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from trnbench.cli.spec.figures import (
    RATES,
    Subject,
    choices,
    find_subject,
    named,
    normalised,
    peak_value,
    scope_of,
)
from trnbench.errors import NothingSelected
from trnbench.facts.fact import Fact, Peak, PeakPolicy, Scope, show_printed
from trnbench.facts.metric import unlike
from trnbench.terminal.cell import VITAL, WANTED, Column, Columns
from trnbench.terminal.context import Session
from trnbench.terminal.output import Row, emit, say


def diff(
    state: Session, a: str, b: str, policy: str | None, scope: str, facts: tuple[Path, ...], format: str
) -> None:
    """Compare two instances, devices or cores, figure by figure, with the ratio of B to A."""
    extra, chosen = state.facts_of(facts), state.policy_of(policy)
    sides = [find_subject(state.registry, name, extra) for name in (a, b)]
    scopes = [scope_of(scope, side.scope) for side in sides]
    rows = _rows(sides, scopes, chosen, whole=not scope)
    if not rows:
        raise NothingSelected(
            f"{a} and {b} have no figure of scope {scope}",
            cause="neither is made of parts of that scope",
            try_="another --scope, or none",
        )
    columns: Columns = (
        "metric",
        Column("a", sides[0].name, keep=VITAL),
        Column("a_from", "evidence, source", keep=WANTED),
        Column("b", sides[1].name, keep=VITAL),
        Column("b_from", "evidence, source", keep=WANTED),
        Column("ratio", "B / A", "right", keep=VITAL, show=lambda ratio: f"{ratio:.4g}"),
    )
    emit(rows, columns, format)
    if scopes[0] is not scopes[1]:
        say(
            f"note: no ratio of unlike scopes: {sides[0].name} is one {scopes[0]}, "
            f"{sides[1].name} one {scopes[1]}; --scope device compares like with like"
        )


class _Cell(NamedTuple):
    text: str
    figure: Fact | Peak
    origin: str


def _rows(sides: list[Subject], scopes: list[Scope], policy: PeakPolicy, *, whole: bool) -> list[Row]:
    tables = [
        {**_peaks(side, at, policy), **(_others(side) if whole else {})}
        for side, at in zip(sides, scopes, strict=True)
    ]
    rows: list[Row] = []
    for name in dict.fromkeys([*tables[0], *tables[1]]):
        one, other = tables[0].get(name), tables[1].get(name)
        rows.append(
            {
                "metric": name,
                "a": one.text if one else None,
                "a_from": one.origin if one else None,
                "b": other.text if other else None,
                "b_from": other.origin if other else None,
                "ratio": _ratio(one, other),
                "a_value": one.figure.value if one else None,
                "b_value": other.figure.value if other else None,
            }
        )
    return rows


def _ratio(one: _Cell | None, other: _Cell | None) -> float | None:
    """B over A, where both are figures of one kind."""
    if one is None or other is None or not one.figure.value or not other.figure.value:
        return None
    return None if unlike(other.figure, one.figure) else other.figure.value / one.figure.value


def _peaks(side: Subject, scope: Scope, policy: PeakPolicy) -> dict[str, _Cell]:
    found = {}
    for each, choice in choices(side.system, scope, policy):
        chosen = choice.chosen
        how = f"{chosen.evidence}, {chosen.source}" + (f": {chosen.formula}" if chosen.formula else "")
        found[each.name] = _Cell(peak_value(chosen), chosen, how)
    return found


def _others(side: Subject) -> dict[str, _Cell]:
    """Counts, capacities and words: the first current fact of each."""
    cells: dict[str, _Cell] = {}
    for fact in sorted(side.facts, key=lambda fact: bool(fact.superseded_by)):
        name = named(fact)
        if fact.metric in ("peak_flops", *RATES) and not fact.qualifier:
            continue
        if name not in cells:
            text = (
                show_printed(fact) if fact.value is None else normalised(fact.value, fact.metric, fact.dtypes)
            )
            cells[name] = _Cell(text, fact, f"{fact.provenance}, {fact.source}")
    return cells
