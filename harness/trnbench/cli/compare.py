"""`trnbench compare`: what changed from one run to another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from trnbench.cli.cell import Column, plain
from trnbench.cli.context import Session
from trnbench.cli.output import emit, emit_json, say
from trnbench.cli.report import put
from trnbench.cli.target import STDOUT, check_name
from trnbench.compare.api import found_run
from trnbench.compare.change import Verdict, interval_text, signed_percent
from trnbench.compare.comparison import compared
from trnbench.errors import UsageError
from trnbench.facts.units import show
from trnbench.run.output_file import check_writable
from trnbench.run.render import find_format
from trnbench.store.store import Store
from trnbench.store.tag import LATEST

if TYPE_CHECKING:
    from trnbench.compare.change import Change, Comparison, Named


COLUMNS = (
    Column("id", "case"),
    Column("before_shown", "before", "right", keep=1),
    Column("after_shown", "after", "right", keep=1),
    Column("change", align="right", keep=2),
    Column("interval", align="right"),
    Column("verdict", keep=2),
)
_CSV = (
    "system", "case", "metric", "unit", "before", "after", "effect", "low", "high", "p", "exact", "verdict",
    "why", "causes", "before_id", "after_id", "before_status", "after_status", "before_evidence",
    "after_evidence",
)  # fmt: skip


def compare(
    shared: Session,
    /,
    *,
    before: str,
    after: str,
    keyword: str,
    a: str,
    b: str,
    threshold: float | None,
    across: bool,
    page: Path | None,
    force: bool,
    every: bool,
    format: str,
) -> None:
    """Say what changed from run BEFORE to run AFTER, case by case."""
    same = bool(a or b) and not after
    if page is not None:
        _check_page(page, force=force, narrowed=bool(keyword or a or b or across or threshold is not None))
    with Store(shared.store_path) as store:
        first = found_run(before or (LATEST if same else f"{LATEST}~1"), store)
        second = first if same else found_run(after or LATEST, store)
    if page is not None:
        put(shared, (first, second), find_format(shared.registry, "html"), page)
        return
    comparison = compared(
        first,
        second,
        threshold=threshold / 100.0 if threshold is not None else None,
        across=across,
        keyword=keyword,
        a=a,
        b=b,
    )
    rows = [change_row(each) for each in comparison.changes]
    if format == "json":
        emit_json({**_head(comparison), "changes": rows})
        return
    if format == "csv":
        emit(rows, _CSV, format)
        return
    for line in opening(comparison):
        say(line, level=0)
    shown = [
        row
        for row, each in zip(rows, comparison.changes, strict=True)
        if every or not (each.exact and not each.effect)
    ]
    if shown:
        emit(shown, COLUMNS, format)
    for line in closing(comparison):
        say(line, level=0)
    if len(shown) < len(rows):
        say(f"{len(rows) - len(shown):,} of them are exactly the same: --all lists them too", level=0)


def _check_page(page: Path, *, force: bool, narrowed: bool) -> None:
    """Raises `UsageError` where the page cannot be written, or would not show what was asked for."""
    if narrowed:
        raise UsageError(
            "--html writes the page of two whole runs",
            cause="-k, --a, --b, --across and --threshold are of the table alone",
            try_="trnbench compare BEFORE AFTER --html FILE, and filter on the page",
        )
    if page != STDOUT:
        check_name(page)
        check_writable(page, force=force)


def _head(found: object) -> dict[str, object]:
    """All of a comparison but its rows."""
    told = plain(found)
    assert isinstance(told, dict)
    return {name: value for name, value in told.items() if name != "changes"}


_LISTED = 10
"""Causes, reasons and names of cases that a person is shown; JSON has all."""


def change_row(each: Change) -> dict[str, object]:
    """Exact values, and as people read them."""

    def shown(value: float | None) -> str | None:
        return show(value, each.unit) if value is not None else None

    return {
        "id": each.id,
        "system": each.case.instance,
        "case": each.case.fullname,
        "metric": each.metric,
        "unit": each.unit,
        "before": each.before.value,
        "after": each.after.value,
        "before_shown": shown(each.before.value),
        "after_shown": shown(each.after.value),
        "effect": each.effect,
        "change": signed_percent(each.effect) if each.effect is not None else None,
        "low": each.interval.low if each.interval else None,
        "high": each.interval.high if each.interval else None,
        "interval": interval_text(each) or None,
        "p": each.p,
        "exact": each.exact,
        "verdict": str(each.verdict) if each.verdict else None,
        "why": each.why or None,
        "causes": list(each.causes),
        "before_id": each.before.id,
        "after_id": each.after.id,
        "before_status": str(each.before.status),
        "after_status": str(each.after.status),
        "before_evidence": str(each.before.grade),
        "after_evidence": str(each.after.grade),
    }


def opening(found: Comparison) -> Iterator[str]:
    """Which runs, and what of them differs beside the cases."""
    yield f"before: {_run(found.before)}"
    yield f"after:  {_run(found.after)}"
    yield from (f"differs: {each}" for each in found.differs)


def _run(each: Named) -> str:
    by = f" by {each.backend}" if each.backend != str(each.grade) else ""
    return f"{each.id}, {each.grade}{by}, {each.created}, {each.cases:,} cases"


def closing(found: Comparison) -> Iterator[str]:
    """Counts, causes, and what could not be compared."""
    causes = Counter(cause for each in found.changes for cause in each.causes)
    if causes:
        yield "what differs of their inputs:"
        yield from counted(causes)
    reasons = [each.why for each in found.changes if each.verdict is None]
    if reasons:
        yield "without a verdict:"
        yield from _by_kind(reasons)
    if found.refused:
        yield "not compared (--across does):"
        yield from counted(Counter(each.why for each in found.refused))
    for what, ids in (("only before", found.missing), ("only after", found.new)):
        if ids:
            more = f" and {len(ids) - 3:,} more" if len(ids) > 3 else ""
            yield f"{what}: {', '.join(ids[:3])}{more}"
    yield counts(found)


def counts(found: Comparison) -> str:
    """`2 slower, 1 faster, 40 no difference shown, 3 without a verdict`."""
    order = (Verdict.SLOWER, Verdict.FASTER, Verdict.SAME)
    parts = [f"{len(some):,} {verdict}" for verdict in order if (some := found.of(verdict))]
    if unjudged := found.of(None):
        parts.append(f"{len(unjudged):,} without a verdict")
    if found.refused:
        parts.append(f"{len(found.refused):,} not compared")
    return ", ".join(parts) or "nothing that ran in either"


def _by_kind(reasons: list[str]) -> Iterator[str]:
    """Sentences that begin alike are told once, with the first of them: figures differ from case to case."""
    kinds = Counter(each.partition(":")[0] for each in reasons)
    firsts = {each.partition(":")[0]: each for each in reversed(reasons)}
    yield from counted(Counter({firsts[kind]: count for kind, count in kinds.items()}))


def counted(found: Counter[str]) -> Iterable[str]:
    """Each sentence with the number of its cases, the commonest first."""
    for said, count in found.most_common(_LISTED):
        yield f"  {said}: {count:,} {'case' if count == 1 else 'cases'}"
    if len(found) > _LISTED:
        yield f"  and {len(found) - _LISTED:,} more (--format json has all)"
