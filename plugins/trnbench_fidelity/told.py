"""A comparison with published points in sentences and tables: the same for terminal, docs and page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from trnbench.results.error_text import NOTHING, factor_text, signed_text, size_text
from trnbench.results.fidelity import Bounds, Errors, FamilyFidelity, Fidelity, Moved
from trnbench_fidelity.broken import BROKEN, broken_cells, broken_of, broken_text
from trnbench_fidelity.coverage import coverage, of_rows
from trnbench_fidelity.sequence import STEPS, by_order, order_text, step_cells
from trnbench_fidelity.tables import HEADS, MEANS, cells, few, folded, grid, shown

_SEQUENCES = "Sequences, versions of one kernel as published"

Rows = tuple[tuple[str, ...], ...]


class Table(msgspec.Struct, frozen=True):
    """Words in rows: the first `left` columns are names, the others numbers."""

    heads: tuple[str, ...]
    rows: Rows
    left: int = 1


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to say, in its order; each sentence stands above the table that follows it.

    A sentence is "" and a table empty where there is nothing to say. `steps` has those out of order first,
    `listed` the points of rows with under five votes.
    """

    model: str
    broken: str
    bounds: Table
    coverage: str
    families: Table
    listed: tuple[str, ...]
    sequences: str
    steps: Table
    wrong: Table  # the steps out of order alone
    moved: str
    movement: Table


def told(fidelity: Fidelity, families: Sequence[FamilyFidelity] | None = None) -> Told:
    """All of it; the table of families shows `families` where that is other than those of the comparison."""
    bounds, broken = broken_of(fidelity.points)
    moved = fidelity.moved if any(each.movers or each.unanswered for each in fidelity.moved) else ()
    steps = by_order(fidelity.steps)
    return Told(
        model=f"{fidelity.by} {fidelity.version}".strip(),
        broken=broken_text(bounds, broken) if bounds else "",
        bounds=Table(BROKEN, tuple(map(broken_cells, broken))),
        coverage=coverage(of_rows(fidelity.families)) if fidelity.families else "",
        families=Table(HEADS, tuple(map(cells, shown(families or fidelity.families))), 2),
        listed=tuple(few(shown(fidelity.families))),
        sequences=f"{_SEQUENCES}: {order_text(fidelity.steps)}." if fidelity.steps else "",
        steps=Table(STEPS, tuple(map(step_cells, steps)), 2),
        wrong=Table(STEPS, tuple(step_cells(each) for each in steps if each.in_order is False), 2),
        moved=moved_text(moved) if moved else "",
        movement=Table(MOVED, tuple(map(moved_cells, moved)), 2),
    )


def markdown(fidelity: Fidelity) -> str:
    """All of it as the docs show it: broken inequalities, coverage, errors, sequences, what moved."""
    all_ = told(fidelity)
    lines = [
        f"Model: {all_.model}. {MEANS}",
        "",
        all_.broken,
        *folded("Broken inequalities, the worst first", _lines(all_.bounds)),
        "",
        all_.coverage,
        "",
        *_lines(all_.families),
        *folded("Rows of under five votes, point by point", [f"- {each}" for each in all_.listed]),
    ]
    if all_.sequences:
        lines += ["", all_.sequences, *folded("Steps, those out of order first", _lines(all_.steps))]
    if all_.moved:
        lines += ["", all_.moved, "", *_lines(all_.movement)]
    return "\n".join(lines) + "\n"


def _lines(table: Table) -> list[str]:
    return grid(table.heads, table.rows, table.left) if table.rows else []


MOVED = (
    *("family", "generation", "kernels, points", "median then", "now", "p90 then", "now"),
    *("broken then", "now", "moved most"),
)
NAMED = 2
"""Movers that a row names."""


def moved_text(moved: Iterable[Moved]) -> str:
    """What the table is of."""
    versions = ", ".join(dict.fromkeys(each.version for each in moved))
    return (
        "Points that were untouched when their list was frozen (no point leaves it): errors by version "
        f"{versions} of the model, and now."
    )


def moved_cells(moved: Moved) -> tuple[str, ...]:
    """One row under `MOVED`."""
    then, now = moved.then, moved.now
    count = f"{now.votes}, {now.points}" if now else "0"
    most = [f"{each.id} {signed_text(each.then)} → {signed_text(each.now)}" for each in moved.movers[:NAMED]]
    if moved.unanswered:
        most.append(f"no answer now: {', '.join(moved.unanswered)}")
    return (
        moved.title,
        moved.generation,
        count,
        *(_of(each, "median") for each in (then, now)),
        *(_of(each, "p90") for each in (then, now)),
        *map(_broken, (moved.bounds_then, moved.bounds_now)),
        "; ".join(most) or NOTHING,
    )


def _of(errors: Errors | None, name: str) -> str:
    e: float | None = getattr(errors, name) if errors else None
    return NOTHING if e is None else size_text(e)


def _broken(bounds: Bounds | None) -> str:
    if bounds is None:
        return NOTHING
    return f"{bounds.broken} of {bounds.count}" + (f", {factor_text(bounds.worst)}" if bounds.broken else "")
