"""A comparison with published points in sentences and tables: the same for terminal, docs and page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from trnbench.errors import counted
from trnbench.facts.units import show
from trnbench.record import Record
from trnbench.results.expectation import NOTHING, factor_text, signed_text, size_text
from trnbench.results.fidelity import Bounds, Comparison, Errors, FamilyFidelity, Fidelity, Moved, Use
from trnbench_fidelity.engines import HEADS as ENGINES
from trnbench_fidelity.engines import by_error, engine_cells, engines_text
from trnbench_fidelity.order import STEPS, by_order, notes, order_text, step_cells
from trnbench_fidelity.tables import HEADS, MEANS, cells, few, folded, grid, shown

BROKEN = ("point", "bound", "model", "times", "source")


def broken_of(points: Iterable[Comparison]) -> tuple[int, list[Comparison]]:
    """How many inequalities the model answers, and those it breaks, the worst first."""
    bounds = [point for point in points if point.use is Use.BOUND and point.e is not None]
    broken = [bound for bound in bounds if bound.e is not None and bound.e > 0]
    return len(bounds), sorted(broken, key=lambda each: (-(each.e or 0.0), each.id))


def broken_text(bounds: int, broken: list[Comparison]) -> str:
    """`Broken: 19 of 28 published inequalities, the worst ×6.4 (…).`"""
    if not broken:
        return f"Broken: none of {bounds} published inequalities."
    worst = broken[0]
    return (
        f"Broken: {len(broken)} of {bounds} published inequalities, the worst "
        f"{factor_text(worst.e or 0.0)} ({worst.id})."
    )


def broken_cells(point: Comparison) -> tuple[str, ...]:
    """One row under `BROKEN`; both values are times. The source is without its commit: `--bounds` has it."""
    times = (show(value, point.unit) if value else "" for value in (point.published, point.emulated))
    where = point.source.partition("@")[0].partition(" (")[0]
    return (point.id, *times, factor_text(point.e or 0.0), where)


_ORDER = "Order of versions of one kernel"

Rows = tuple[tuple[str, ...], ...]


class Table(Record):
    """Words in rows: the first `left` columns are names, the others numbers."""

    heads: tuple[str, ...]
    rows: Rows
    left: int = 1


class Told(Record, kw_only=True):
    """What there is to say, in its order; each sentence stands above the table that follows it.

    A sentence is "" and a table empty where there is nothing to say. `steps` has pairs out of order first,
    then steps to the next version; `listed` the points of rows with under five votes, `movers` each that
    moved by more than 5 %.
    """

    model: str
    broken: str
    bounds: Table
    coverage: str
    families: Table
    listed: tuple[str, ...]
    sequences: str
    steps: Table
    wrong: Table  # the pairs out of order alone
    undecided: tuple[str, ...]  # pairs whose order no cost decides
    moved: str
    movement: Table
    movers: tuple[str, ...]
    engines: str
    active: Table


def told(fidelity: Fidelity, families: Sequence[FamilyFidelity] | None = None) -> Told:
    """All of it; the table of families shows `families` where that is other than those of the comparison."""
    bounds, broken = broken_of(fidelity.points)
    moved = fidelity.moved if any(each.movers or each.unanswered for each in fidelity.moved) else ()
    steps = by_order(fidelity.steps)
    shown_steps = [step for step in steps if step.apart == 1 or step.in_order is False]
    return Told(
        model=f"{fidelity.by} {fidelity.version}".strip(),
        broken=broken_text(bounds, broken) if bounds else "",
        bounds=Table(BROKEN, tuple(map(broken_cells, broken))),
        coverage=coverage(of_rows(fidelity.families)) if fidelity.families else "",
        families=Table(HEADS, tuple(map(cells, shown(families or fidelity.families))), 2),
        listed=tuple(few(shown(fidelity.families))),
        sequences=f"{_ORDER}: {order_text(fidelity.steps)}." if fidelity.steps else "",
        steps=Table(STEPS, tuple(map(step_cells, shown_steps)), 2),
        wrong=Table(STEPS, tuple(step_cells(step) for step in steps if step.in_order is False), 2),
        undecided=tuple(notes(steps)),
        moved=moved_text(moved) if moved else "",
        movement=Table(MOVED, tuple(map(moved_cells, moved)), 3),
        movers=tuple(each for one in moved if (each := movers_text(one))),
        engines=engines_text(fidelity.engines),
        active=Table(ENGINES, tuple(map(engine_cells, by_error(fidelity.engines))), 2),
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
        lines += ["", all_.sequences]
        lines += folded("Pairs out of order, then steps to the next version", _lines(all_.steps))
        lines += folded("Pairs whose order no cost decides", [f"- {each}" for each in all_.undecided])
    if all_.engines:
        lines += ["", all_.engines, *folded("Engines, the worst first", _lines(all_.active))]
    if all_.moved:
        lines += ["", all_.moved, "", *_lines(all_.movement)]
        lines += folded("Each that moved by more than 5 %", [f"- {mover}" for mover in all_.movers])
    return "\n".join(lines) + "\n"


def _lines(table: Table) -> list[str]:
    return grid(table.heads, table.rows, table.left) if table.rows else []


MOVED = (
    *("family", "generation", "since version", "kernels, points", "median then", "now", "p90 then", "now"),
    *("broken then", "now", "moved by more than 5 %"),
)


def moved_text(moved: Iterable[Moved]) -> str:
    """What the table is of."""
    versions = " and ".join(dict.fromkeys(each.version for each in moved))
    return (
        "Points that were untouched when their list was frozen (no point leaves it): errors by version "
        f"{versions} of the model, and now."
    )


def moved_cells(moved: Moved) -> tuple[str, ...]:
    """One row under `MOVED`."""
    then, now = moved.then, moved.now
    count = f"{now.votes}, {now.points}" if now else "0"
    return (
        moved.title,
        moved.generation,
        moved.version,
        count,
        *(_of(each, "median") for each in (then, now)),
        *(_of(each, "p90") for each in (then, now)),
        *map(_broken, (moved.bounds_then, moved.bounds_now)),
        str(len(moved.movers)),
    )


def movers_text(moved: Moved) -> str:
    """Each point that moved by more than 5 %, and those without an answer now."""
    parts = [f"{mover.id} {signed_text(mover.then)} → {signed_text(mover.now)}" for mover in moved.movers]
    if moved.unanswered:
        parts.append(f"no answer now: {', '.join(moved.unanswered)}")
    if not parts:
        return ""
    return f"{moved.title}, {moved.generation}, since version {moved.version}: {'; '.join(parts)}"


def _of(errors: Errors | None, name: str) -> str:
    e: float | None = getattr(errors, name) if errors else None
    return NOTHING if e is None else size_text(e)


def _broken(bounds: Bounds | None) -> str:
    if bounds is None:
        return NOTHING
    return f"{bounds.broken} of {bounds.count}" + (f", {factor_text(bounds.worst)}" if bounds.broken else "")


_WORDS = {
    Use.NEEDS_SOURCE: "need the source of a public kernel",
    Use.NO_KERNEL: "have no kernel to run",
    Use.NOT_EMULATED: "are refused by the model",
    Use.NOT_USED: "lack detail or measure something else",
}


def coverage(uses: Mapping[str, int]) -> str:
    """`Counts 229 of 373 published points (61 %): 201 measured and 28 bounds. Not counted: 91 lack …`

    `uses` counts published points by `Use`; `trnbench validate points` has the reason of each.
    """
    count = {use: uses.get(str(use), 0) for use in Use}
    bounds, measured = count[Use.BOUND], count[Use.EMULATED] + count[Use.CONTRADICTED]
    total, everything = measured + bounds, sum(uses.values())
    share = f" ({100 * total / everything:.0f} %)" if everything else ""
    parts = f"{measured} measured" + (f" and {counted(bounds, 'bound')}" if bounds else "")
    text = f"Counts {total} of {counted(everything, 'published point')}{share}: {parts}."
    rest = sorted(((count[use], words) for use, words in _WORDS.items() if count[use]), reverse=True)
    if rest:
        text += f" Not counted: {'; '.join(f'{number} {words}' for number, words in rest)}."
    return text


def of_rows(families: Iterable[FamilyFidelity]) -> dict[str, int]:
    """What became of the points of all these rows together."""
    total: Counter[str] = Counter()
    for family in families:
        total.update(family.uses)
    return dict(total)
