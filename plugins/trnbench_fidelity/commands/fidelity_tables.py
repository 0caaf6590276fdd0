"""What `trnbench validate` prints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from trnbench.results.expectation import factor_text, signed_text, size_text
from trnbench.results.json import plain
from trnbench.terminal.cell import Column
from trnbench.terminal.output import emit, paragraph, say, write
from trnbench_fidelity.engines import by_error, engines_text
from trnbench_fidelity.order import by_order, notes, order_of, order_text
from trnbench_fidelity.own_products import products
from trnbench_fidelity.summary import broken_of, markdown, told
from trnbench_fidelity.tables import family_row

if TYPE_CHECKING:
    from trnbench.registry import Registry
    from trnbench.results.fidelity import Comparison, Fidelity, OwnProduct
    from trnbench_fidelity.summary import Table


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
    columns = [
        Column(str(index), head, "left" if index < table.left else "right", keep=_KEEP.get(head, 0))
        for index, head in enumerate(table.heads)
    ]
    if table.rows:
        emit([{str(index): cell for index, cell in enumerate(row)} for row in table.rows], columns, "table")


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
        _emit(_BOUNDS, [_point_row(each) for each in broken_of(found.points)[1]], format)
    elif name == "order":
        _emit(_STEPS, _step_rows(found), format)
        if format == "table":
            _say_order(found)
    elif name == "engines":
        _emit(_ENGINES, _engine_rows(found), format)
        if format == "table":
            paragraph(f"\n{engines_text(found.engines)}")
    elif format == "table":
        all_ = told(found)
        _grid(all_.movement)
        for mover in all_.movers:
            paragraph(mover)
    else:
        _emit(_MOVED, _moved_rows(found), format)


def _emit(columns: Sequence[Column | str], rows: Sequence[dict[str, object]], format: str) -> None:
    emit(rows, columns, format)


def _size(e: float) -> str:
    return size_text(e)


def _signed(e: float) -> str:
    return signed_text(e)


def _seconds(seconds: float) -> str:
    from trnbench.facts.units import show

    return show(seconds, "s")


def _factor(e: float) -> str:
    return factor_text(e)


_POINTS: tuple[Column | str, ...] = (
    "id",
    "family",
    "use",
    Column("published_text", "published", align="right", keep=2),
    Column("emulated_text", "emulated", align="right", keep=2),
    Column("e", "error", show=_signed, align="right", keep=2),
    Column("e_cross", "cross-validated", show=_signed, align="right"),
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
    Column("e", "times", show=_factor, align="right", keep=1),
    "source",
)
_STEPS: tuple[Column | str, ...] = (
    "sequence",
    "generation",
    Column("start", "from", keep=1),
    Column("end", "to", keep=2),
    Column("published", show=_signed, align="right", keep=3),
    Column("model", show=_signed, align="right", keep=3),
    Column("off", "ratio off", show=_signed, align="right"),
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
    Column("published", show=_seconds, align="right", keep=3),
    Column("model", show=_seconds, align="right", keep=3),
    Column("e", "error", show=_signed, align="right", keep=3),
    "vote",
)
_MOVED: tuple[Column | str, ...] = (
    "family",
    "generation",
    "version",
    Column("votes", "kernels"),
    "points",
    *(
        Column(f"{name}_{when}", f"{name} {when}", show=_size, align="right")
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
    from trnbench.facts.units import show

    def text(value: float | None) -> str | None:
        if value is None:
            return None
        if each.unit == "1":
            return f"{value:.3g}"
        return f"{value:.4g} 1/s" if each.unit == "1/s" else show(value, each.unit)

    fields = plain(each)
    assert isinstance(fields, dict)
    return {
        **fields,
        "published_text": text(each.published),
        "emulated_text": text(each.emulated),
        "evidence": "P" if each.emulated is None else "P/E",
    }


def _step_rows(found: Fidelity) -> list[dict[str, object]]:
    rows = []
    for each in by_order(found.steps):
        fields = plain(each)
        assert isinstance(fields, dict)
        rows.append({**fields, "off": each.off, "in_order": each.in_order})
    return rows


def _engine_rows(found: Fidelity) -> list[dict[str, object]]:
    rows = []
    for each in by_error(found.engines):
        fields = plain(each)
        assert isinstance(fields, dict)
        rows.append({**fields, "e": each.e})
    return rows


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
    from trnbench_fidelity.sources import as_json, checkouts, markdown, of_fidelity

    made = of_fidelity(found, checkouts(kernels), datetime.now(UTC).date().isoformat(), assumed)
    write(markdown(made) if format == "md" else as_json(made))


def show_not_run(found: Fidelity) -> None:
    """Points of public kernels without a time, and why."""
    rows = [{"not run": point.id, "because": point.how} for point in found.points if point.emulated is None]
    if rows:
        write("\n")
        emit(rows, ("not run", "because"), "table")


def _rate(flops_per_s: float) -> str:
    from trnbench.facts.units import show

    return show(flops_per_s, "FLOP/s")


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
    fields = plain(of)
    assert isinstance(fields, dict)
    return {
        **fields,
        "shape": f"{of.m} x {of.n} x {of.k}",
        "error": math.expm1(of.e),
        "slower": len(of.others),
    }
