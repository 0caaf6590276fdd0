"""A comparison as rows, and what a person is told before and after them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from trnbench.compare.change import Verdict

if TYPE_CHECKING:
    from trnbench.compare.change import Change, Comparison, Named

_LISTED = 10
"""Causes, reasons and names of cases that a person is shown; JSON has all."""


def change_row(each: Change) -> dict[str, object]:
    """Exact values, and as people read them."""
    from trnbench.compare.words import interval_text, signed_percent
    from trnbench.facts.format import show

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
