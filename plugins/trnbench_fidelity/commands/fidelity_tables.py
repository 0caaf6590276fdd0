"""What `trnbench validate` prints."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trnbench.facts.units import show as show_unit
from trnbench.record import grouped
from trnbench.results.expectation import factor_text, signed_text, size_text
from trnbench.results.fidelity import Comparison, Fidelity, OwnProduct
from trnbench.results.json import plain
from trnbench.terminal.cell import Column
from trnbench.terminal.output import emit, paragraph, say, write
from trnbench_fidelity.engines import by_error, engines_text
from trnbench_fidelity.order import by_order, notes, order_of, order_text
from trnbench_fidelity.own_products import products
from trnbench_fidelity.sources import Checkout, Sources, as_json, checkouts, of_fidelity, summaries
from trnbench_fidelity.statistics import uses_of
from trnbench_fidelity.summary import Table, broken_of, coverage, markdown, told
from trnbench_fidelity.tables import HEADS, cells, family_row, folded, grid

if TYPE_CHECKING:
    from trnbench.registry import Registry


_KEEP = {"generation": 3, "median": 3, "to": 2, "p90": 2, "published": 2, "model": 2, "order": 2}
_KEEP |= {"untouched": 1, "worst": 1, "kernels, points": 1, "now": 1}
"""`Column.keep` of the tables for people, by their headings."""


def show(found: Fidelity, format: str) -> None:
    """The whole comparison: for people all parts, for JSON and CSV one row per family and generation."""
    if format == "md":
        write("".join(f"{note[0].upper()}{note[1:]}.\n\n" for note in found.notes) + markdown(found))
    elif format == "table":
        _show_parts(found)
    else:
        noted = {"notes": found.notes} if found.notes else {}
        every = (*found.families, *(each.row for each in found.public))
        rows = [family_row(each) | noted for each in every]
        emit(rows, tuple(rows[0]), format)


def _show_parts(found: Fidelity) -> None:
    all_ = told(found, (*found.families, *(each.row for each in found.public)))
    if all_.broken:
        paragraph(all_.broken)
        _grid(all_.bounds)
        write("\n")
    paragraph(all_.coverage)
    _grid(all_.families)
    if all_.listed:
        write("\nRows of under five votes, point by point:\n")
        for each in all_.listed:
            paragraph(each)
    if all_.sequences:
        paragraph(f"\n{all_.sequences}")
        _grid(all_.wrong)
        for each in all_.undecided:
            paragraph(each)
    if all_.engines:
        paragraph(f"\n{all_.engines}")
    if all_.moved:
        paragraph(f"\n{all_.moved}")
        _grid(all_.movement)
        for mover in all_.movers:
            paragraph(mover)
    say(f"model: {all_.model}", level=0)
    _say_public(found)


def _grid(table: Table) -> None:
    """Nothing where it has no rows."""
    if table.rows:
        emit_cells(table.heads, table.rows, table.left, _KEEP)


def emit_cells(
    heads: Sequence[str], rows: Iterable[Sequence[str]], left: int, keep: Mapping[str, int]
) -> None:
    """A table of texts, for people. Its first `left` columns are words; `keep`: `Column.keep` by heading."""
    columns = [
        Column(str(index), head, "left" if index < left else "right", keep=keep.get(head, 0))
        for index, head in enumerate(heads)
    ]
    emit([{str(index): cell for index, cell in enumerate(row)} for row in rows], columns, "table")


def _say_public(found: Fidelity) -> None:
    """When public kernels were last run, and whether by this model: they are not here to run again."""
    for day, by, version in dict.fromkeys((each.day, each.by, each.version) for each in found.public):
        if not day:
            continue
        say(
            f"public kernels: run on {day} by {by} {version}, from sources that are not part of trnbench",
            level=0,
        )
        if (by, version) != (found.by, found.version):
            say(
                f"warning: their times are of {by} {version}, the model is {found.by} {found.version}\n"
                "  try:   trnbench validate --kernels FOLDER: docs/fidelity.md",
                level=0,
            )


def show_table(name: str, found: Fidelity, format: str) -> None:
    """One of the tables behind the comparison; in JSON and CSV errors are natural logarithms."""
    if name == "points":
        emit([_point_row(point) for point in found.points], _POINTS, format)
    elif name == "bounds":
        emit([_point_row(each) for each in broken_of(found.points)[1]], _BOUNDS, format)
    elif name == "order":
        emit(
            [fields_of(each, off=each.off, in_order=each.in_order) for each in by_order(found.steps)],
            _STEPS,
            format,
        )
        if format == "table":
            _say_order(found)
    elif name == "engines":
        emit([fields_of(each, e=each.e) for each in by_error(found.engines)], _ENGINES, format)
        if format == "table":
            paragraph(f"\n{engines_text(found.engines)}")
    elif format == "table":
        all_ = told(found)
        _grid(all_.movement)
        for mover in all_.movers:
            paragraph(mover)
    else:
        emit(_moved_rows(found), _MOVED, format)


seconds = partial(show_unit, unit="s")
"""As a `Column` shows them."""

_POINTS: tuple[Column | str, ...] = (
    "id",
    "family",
    "use",
    Column("published_text", "published", align="right", keep=2),
    Column("emulated_text", "emulated", align="right", keep=2),
    Column("e", "error", show=signed_text, align="right", keep=2),
    Column("e_cross", "cross-validated", show=signed_text, align="right"),
    Column("honesty", keep=1),
    Column("evidence", keep=2),
    "vote",
    "source",
    "how",
)
_BOUNDS: tuple[Column | str, ...] = (
    "id",
    "generation",
    Column("published_text", "bound", align="right", keep=1),
    Column("emulated_text", "model", align="right", keep=1),
    Column("e", "times", show=factor_text, align="right", keep=1),
    "source",
)
_STEPS: tuple[Column | str, ...] = (
    "sequence",
    "generation",
    Column("start", "from", keep=1),
    Column("end", "to", keep=2),
    Column("published", show=signed_text, align="right", keep=3),
    Column("model", show=signed_text, align="right", keep=3),
    Column("off", "ratio off", show=signed_text, align="right"),
    Column("in_order", "order kept", keep=3),
    "apart",
    "tied",
    "note",
    "source",
)
_ENGINES: tuple[Column | str, ...] = (
    Column("id", "point", keep=2),
    "generation",
    Column("engine", keep=3),
    Column("share", "of the time", show=lambda share: f"{100 * share:.0f} %", align="right"),
    Column("published", show=seconds, align="right", keep=3),
    Column("model", show=seconds, align="right", keep=3),
    Column("e", "error", show=signed_text, align="right", keep=3),
    "vote",
)
_MOVED: tuple[Column | str, ...] = (
    "family",
    "generation",
    "version",
    Column("votes", "kernels"),
    "points",
    *(
        Column(f"{name}_{when}", f"{name} {when}", show=size_text, align="right")
        for name in ("median", "p90")
        for when in ("then", "now")
    ),
    "bounds",
    Column("broken_then", "broken then"),
    Column("broken_now", "broken now"),
    Column("movers", "moved by more than 5 %"),
    Column("unanswered", "no answer now"),
)


def _point_row(each: Comparison) -> dict[str, object]:
    def text(value: float | None) -> str | None:
        if value is None:
            return None
        if each.unit == "1":
            return f"{value:.3g}"
        return f"{value:.4g} 1/s" if each.unit == "1/s" else show_unit(value, each.unit)

    return fields_of(
        each,
        published_text=text(each.published),
        emulated_text=text(each.emulated),
        evidence="P" if each.emulated is None else "P/E",
    )


def fields_of(struct: object, **more: object) -> dict[str, object]:
    """A row of the fields of a struct, as JSON has them, and of what follows from them."""
    return {**plain(struct), **more}


def _say_order(found: Fidelity) -> None:
    """The counts over all pairs, and each sequence's rank correlation."""
    paragraph(f"\n{order_text(found.steps)}.")
    for name, tau in order_of(found.steps).tau.items():
        write(f"τ {tau:.2f}: {name}\n")
    for note in notes(found.steps):
        paragraph(note)


def _moved_rows(found: Fidelity) -> list[dict[str, object]]:
    return [
        {
            "family": each.family,
            "generation": each.generation,
            "version": each.version,
            "votes": each.now.votes if each.now else 0,
            "points": each.now.points if each.now else 0,
            **{
                f"{name}_{when}": getattr(errors, name) if errors else None
                for when, errors in (("then", each.then), ("now", each.now))
                for name in ("median", "p90")
            },
            "bounds": each.bounds_now.count if each.bounds_now else 0,
            "broken_then": each.bounds_then.broken if each.bounds_then else 0,
            "broken_now": each.bounds_now.broken if each.bounds_now else 0,
            "movers": ", ".join(
                f"{point.id} {signed_text(point.then)} → {signed_text(point.now)}" for point in each.movers
            ),
            "unanswered": ", ".join(each.unanswered),
        }
        for each in found.moved
    ]


def show_sources(found: Fidelity, kernels: Path, format: str, assumed: str) -> None:
    """What is kept of public kernels run from `kernels`: JSON for the plugins, Markdown for the docs."""
    made = of_fidelity(found, checkouts(kernels), datetime.now(UTC).date().isoformat(), assumed)
    write(public_markdown(made) if format == "md" else as_json(made))


PUBLIC_BEGIN = "<!-- sources: begin (trnbench validate sources --kernels FOLDER --format md) -->"
PUBLIC_END = "<!-- sources: end -->"
"""Between these two lines docs/errors.md has what `public_markdown` makes of `sources.kept`."""


def not_run(points: Iterable[Comparison]) -> dict[str, list[str]]:
    """Why points have no time of the model → their ids, the reason of most points first."""
    without = (point for point in points if point.emulated is None)
    found = grouped(without, lambda point: point.how.partition(" (")[0])
    most_first = sorted(found.items(), key=lambda item: -len(item[1]))
    return {reason: [point.id for point in those] for reason, those in most_first}


def public_markdown(found: Sources) -> str:
    """One row per generation, then which points were not run, then what the kernels came from."""
    rows = [summary.row for summary in summaries(found)]
    under = f" under the assumptions {found.assumptions}" if found.assumptions else ""
    lines = [
        f"Public kernels, run from their own sources by {found.by} {found.version} on {found.day}{under}; "
        "only numbers that a publication says it set in them are set. The sources are not part of this "
        "repository: repeating it takes the commits below. Columns are those of the table above.",
        "",
        coverage(uses_of(found.points)),
        "",
        *grid(HEADS, map(cells, rows)),
    ]
    reasons = not_run(found.points).items()
    lines += folded("Not run, and why", [f"- {why}: {', '.join(ids)}" for why, ids in reasons])
    if found.checkouts:
        lines += ["", f"Sources: {'; '.join(map(_checkout_text, found.checkouts))}."]
    return "\n".join(lines) + "\n"


def _checkout_text(of: Checkout) -> str:
    return f"{of.repository} {of.commit[:12]} ({', '.join(filter(None, (of.day, of.note)))})"


def show_not_run(found: Fidelity) -> None:
    """Points of public kernels without a time, and why."""
    rows = [{"not run": point.id, "because": point.how} for point in found.points if point.emulated is None]
    if rows:
        write("\n")
        emit(rows, ("not run", "because"), "table")


_rate = partial(show_unit, unit="FLOP/s")


def _error(fraction: float) -> str:
    return signed_text(math.log1p(fraction))


_COLUMNS: tuple[Column | str, ...] = (
    "generation",
    Column("shape", "M x N x K", align="right", keep=2),
    "dtype",
    "cores",
    Column("model_flops_per_s", "our kernel", show=_rate, align="right", keep=1),
    Column("published_flops_per_s", "best published", show=_rate, align="right", keep=1),
    Column("error", "time", show=_error, align="right", keep=1),
    Column("id", keep=1),
    Column("slower", "slower ones", show=str, align="right"),
)


def show_own_products(registry: Registry, generations: Sequence[str], format: str) -> bool:
    """Prints a row for each published shape; whether there is any. `error` is the one of the time."""
    rows = [_row(row) for name in generations or registry.generations for row in products(registry, name)]
    if rows:
        emit(rows, _COLUMNS, format)
        say(
            "two programs, so no error of the model alone: what the published one loses is in it. "
            "Times are without the launch",
            level=0,
        )
    return bool(rows)


def _row(of: OwnProduct) -> dict[str, object]:
    shape = f"{of.m} x {of.n} x {of.k}"
    return fields_of(of, shape=shape, error=math.expm1(of.e), slower=len(of.others))
