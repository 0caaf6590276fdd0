"""`trnbench compare`: what changed from one run to another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from trnbench.compare.api import check_apart, found_run
from trnbench.compare.change import Change, Comparison, Named, Side, interval_text
from trnbench.compare.comparison import compared
from trnbench.errors import UnknownName, UsageError, counted
from trnbench.facts.units import show, signed_percent
from trnbench.results.measurement import Verdict
from trnbench.run.output_file import check_writable
from trnbench.run.render import find_format
from trnbench.store.store import Store
from trnbench.store.tag import LATEST
from trnbench.terminal.cell import VITAL, WANTED, Column
from trnbench.terminal.context import Session
from trnbench.terminal.option import typed_flags
from trnbench.terminal.output import emit, emit_json, mention
from trnbench.terminal.target import STDOUT, check_name, put

COLUMNS = (
    Column("id", "case"),
    Column("before_shown", "before", "right", keep=WANTED),
    Column("after_shown", "after", "right", keep=WANTED),
    Column("change", align="right", keep=VITAL),
    Column("interval", align="right"),
    Column("order", "in order", "right"),
    Column("verdict", keep=VITAL),
)
_OF_PAIRS = tuple(
    Column("metric", "decided by", keep=WANTED) if each.key == "order" else each for each in COLUMNS
)
_CSV = (
    "system", "case", "metric", "unit", "before", "after", "effect", "low", "high", "p", "exact", "verdict",
    "kept", "pairs", "why", "causes", "before_id", "after_id", "before_status", "after_status",
    "before_evidence", "after_evidence",
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
    paired: bool,
    **asked: Any,
) -> None:
    """Say what changed from BEFORE to AFTER, case by case: two runs, or two sides of pairs."""
    share = threshold / 100.0 if threshold is not None else None
    if paired:
        from trnbench.cli import pairs  # all that measures

        pairs.of_runs_alone()
        found = pairs.measured(shared, before, after, keyword=keyword, threshold=share, asked=asked)
        _print(found, format, _OF_PAIRS, every=True)
        return
    of_pairs_alone(asked)
    same = not after if a or b else before == after != ""
    if page is not None:
        _check_page(page, force=force, narrowed=bool(keyword or a or b or across or threshold is not None))
    with Store(shared.store_path) as store:
        try:
            first = found_run(before or (LATEST if same else f"{LATEST}~1"), store)
            second = first if same else found_run(after or LATEST, store)
        except UnknownName as error:
            raise _of_system(shared, error, before, after) from None
        if not (same or a or b):
            check_apart(
                before or f"{LATEST}~1", first, after or LATEST, second, store,
                lambda name: f"trnbench compare {name} {after}".rstrip(),
            )  # fmt: skip
    if page is not None:
        put(shared, (first, second), find_format(shared.registry, "html"), page)
        return
    comparison = compared(first, second, threshold=share, across=across, keyword=keyword, a=a, b=b)
    _print(comparison, format, COLUMNS, every=every)


def _of_system(shared: Session, error: UnknownName, *names: str) -> UnknownName:
    """What to type instead where systems were named; else the `error` itself."""
    known = shared.registry.instance_names(aliases=True)
    systems = [name for name in names if name.partition(":")[0] in known]
    if error.name not in systems:
        return error
    asked = " ".join(f"-i {name}" for name in systems)
    return UnknownName(
        "run",
        error.name,
        error.known,
        cause="it is a system; runs are compared here",
        try_=f"trnbench run KERNEL {asked}",
    )


def _print(comparison: Comparison, format: str, columns: Sequence[Column], *, every: bool) -> None:
    rows = [change_row(each) for each in comparison.changes]
    if format == "json":
        emit_json({**_head(comparison), "changes": rows})
        return
    if format == "csv":
        emit(rows, _CSV, format)
        return
    for line in opening(comparison):
        mention(line)
    shown = [
        row
        for row, each in zip(rows, comparison.changes, strict=True)
        if every or not (each.equal or each.absent)
    ]
    if shown:
        ordered = any(row["order"] for row in shown)
        emit(shown, columns if ordered else [each for each in columns if each.key != "order"], format)
    for line in (*comparison.notes, *closing(comparison)):
        mention(line)
    equal = sum(each.equal for each in comparison.changes)
    if equal and not every:
        mention(f"{equal:,} of them exactly the same: --all lists them too")


def of_pairs_alone(names: Iterable[str]) -> None:
    """Raises `UsageError` for the first of these options that is typed: stored runs have no use for it."""
    for flag in typed_flags(click.get_current_context(), names).values():
        raise UsageError(
            f"{flag} is for pairs",
            cause="stored runs are compared as they are",
            try_=f"--paired {flag} …, with two kernels, settings, files of facts, commits or folders",
        )


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


def _head(found: Comparison) -> dict[str, object]:
    """All of a comparison but its rows."""
    return {name: getattr(found, name) for name in found.__struct_fields__ if name != "changes"}


_LISTED, _NAMED = 10, 3
"""Causes or reasons, and ids of cases, that a person is shown; JSON has all."""


def change_row(each: Change) -> dict[str, object]:
    """Exact values, and as people read them."""

    before, after = each.before, each.after

    def shown(side: Side | None) -> str | None:
        if side is None or side.value is None:
            return str(side.status) if side is not None else None
        return show(side.value, each.unit)

    return {
        "id": each.id,
        "system": each.case.instance,
        "case": each.case.fullname,
        "metric": each.metric,
        "unit": each.unit,
        "before": before.value if before else None,
        "after": after.value if after else None,
        "before_shown": shown(before),
        "after_shown": shown(after),
        "effect": each.effect,
        "change": signed_percent(each.effect) if each.effect is not None else None,
        "low": each.interval.low if each.interval else None,
        "high": each.interval.high if each.interval else None,
        "interval": interval_text(each) or None,
        "p": each.p,
        "exact": each.exact,
        "bands": each.bands,
        "order": str(each.order) if each.order else None,
        "kept": each.order.kept if each.order else None,
        "pairs": each.order.pairs if each.order else None,
        "verdict": str(each.verdict),
        "why": each.why or None,
        "causes": list(each.causes),
        "before_id": before.id if before else None,
        "after_id": after.id if after else None,
        "before_status": str(before.status) if before else None,
        "after_status": str(after.status) if after else None,
        "before_evidence": str(before.grade) if before else None,
        "after_evidence": str(after.grade) if after else None,
    }


def opening(found: Comparison) -> Iterator[str]:
    """Which runs, and what of them differs beside the cases."""
    yield f"before: {_run(found.before)}"
    yield f"after:  {_run(found.after)}"
    yield from (f"differs: {each}" for each in found.differs)


def _run(each: Named) -> str:
    by = f" by {each.backend}" if each.backend != str(each.grade) else ""
    marks = ", ".join(filter(None, (each.cut_short, "edited by hand" if each.edited else "")))
    marks = f" ({marks})" if marks else ""
    return f"{each.id}, {each.grade}{by}, {each.created}, {counted(each.cases, 'case')}{marks}"


def closing(found: Comparison) -> Iterator[str]:
    """Counts, causes, and what could not be compared."""
    causes = Counter(cause for each in found.changes for cause in each.causes)
    if causes:
        yield "what moved them:"
        yield from tally(causes)
    orders = {each.order for each in found.changes if each.order is not None and each.order.pairs}
    for order in sorted(orders, key=str):
        yield (
            f"of published pairs that differ by {order.gain} the model keeps {order} in order: "
            "trnbench validate order"
        )
    for verdict in (Verdict.BROKEN, Verdict.LOST, Verdict.MENDED, Verdict.UNKNOWN):
        reasons = [each.why for each in found.of(verdict) if each.why and not each.absent]
        if reasons:
            yield f"{verdict}:"
            yield from _by_kind(reasons)
    if found.refused:
        yield "not compared (--across does):"
        yield from tally(Counter(each.why for each in found.refused))
    for what, verdict in (("only before", Verdict.LOST), ("only after", Verdict.NEW)):
        if ids := [each.id for each in found.of(verdict) if each.absent]:
            others = ids[_NAMED:]
            more = f" and {len(others):,} more" if others else ""
            yield f"{verdict}, {what}: {', '.join(ids[:_NAMED])}{more}"
    yield found.counts()


def _by_kind(reasons: list[str]) -> Iterator[str]:
    """Sentences that begin alike are told once, with the first of them: figures differ from case to case."""
    kinds = Counter(each.partition(":")[0] for each in reasons)
    firsts = {each.partition(":")[0]: each for each in reversed(reasons)}
    yield from tally(Counter({firsts[kind]: count for kind, count in kinds.items()}))


def tally(found: Counter[str]) -> Iterable[str]:
    """Each sentence with the number of its cases, the commonest first."""
    sentences = found.most_common()
    for said, count in sentences[:_LISTED]:
        yield f"  {said}: {counted(count, 'case')}"
    if others := sentences[_LISTED:]:
        yield f"  and {len(others):,} more (--format json has all)"
