"""What `trnbench validate` prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trnbench.cli.output import Column, emit, paragraph, say, write

if TYPE_CHECKING:
    from trnbench.results.fidelity import Comparison, Fidelity
    from trnbench_fidelity.told import Table


_KEEP = {"generation": 3, "median": 3, "to": 2, "p90": 2, "published": 2, "model": 2, "order": 2}
_KEEP |= {"untouched": 1, "worst": 1, "kernels, points": 1, "now": 1}
"""`Column.keep` of the tables for people, by their headings."""


def show(found: Fidelity, format: str) -> None:
    """The whole comparison: for people all parts, for JSON and CSV one row per family and generation."""
    from trnbench_fidelity.tables import family_row
    from trnbench_fidelity.told import markdown

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
    from trnbench_fidelity.told import told

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
    if all_.moved:
        paragraph(f"\n{all_.moved}")
        _grid(all_.movement)
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
        emit([_point_row(each) for each in found.points], _POINTS, format)
    elif name == "bounds":
        _emit(_BOUNDS, _bound_rows(found.points), format)
    elif name == "sequences":
        _emit(_STEPS, _step_rows(found), format)
    else:
        _emit(_MOVED, _moved_rows(found), format)


def _emit(columns: Sequence[Column | str], rows: Sequence[dict[str, object]], format: str) -> None:
    emit(rows, columns, format)


def _size(e: float) -> str:
    from trnbench.results.error_text import size_text

    return size_text(e)


def _signed(e: float) -> str:
    from trnbench.results.error_text import signed_text

    return signed_text(e)


def _factor(e: float) -> str:
    from trnbench.results.error_text import factor_text

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
    "source",
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
    Column("movers", "moved most"),
    Column("unanswered", "no answer now"),
)


def _point_row(each: Comparison) -> dict[str, object]:
    from trnbench.facts.format import show
    from trnbench.results.json import plain

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


def _bound_rows(points: Iterable[Comparison]) -> list[dict[str, object]]:
    from trnbench_fidelity.broken import broken_of

    return [_point_row(each) for each in broken_of(points)[1]]


def _step_rows(found: Fidelity) -> list[dict[str, object]]:
    from trnbench.results.json import plain
    from trnbench_fidelity.sequence import by_order

    rows = []
    for each in by_order(found.steps):
        fields = plain(each)
        assert isinstance(fields, dict)
        rows.append({**fields, "off": each.off, "in_order": each.in_order})
    return rows


def _moved_rows(found: Fidelity) -> list[dict[str, object]]:
    from trnbench.results.error_text import signed_text

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
    from datetime import UTC, datetime

    from trnbench_fidelity.sources import as_json, checkouts, markdown, of_fidelity

    made = of_fidelity(found, checkouts(kernels), datetime.now(UTC).date().isoformat(), assumed)
    write(markdown(made) if format == "md" else as_json(made))


def show_not_run(found: Fidelity) -> None:
    """Points of public kernels without a time, and why."""
    rows = [{"not run": each.id, "because": each.how} for each in found.points if each.emulated is None]
    if rows:
        write("\n")
        emit(rows, ("not run", "because"), "table")
