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
        "interval": interval_text(each),
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


def interval_text(each: Change) -> str | None:
    """`+1.2 to +3.4 %`, `exact` for a model; None where there is none."""
    if each.interval is None:
        return "exact" if each.exact else None
    low, high = (signed_percent(end).removesuffix(" %") for end in (each.interval.low, each.interval.high))
    return f"{low} to {high} %"


def signed_percent(effect: float) -> str:
    """`+5.0 %`, `−0.03 %`: as many digits as tell it from nothing."""
    share = 100.0 * effect
    if not share:
        return "0 %"
    size = abs(share)
    digits = 1 if size >= 0.1 else 2 if size >= 0.01 else 3
    text = f"{size:,.0f}" if size >= 1000 else f"{size:.{digits}f}"
    if not text.strip("0."):
        text = "<0.001"
    return f"{'+' if share > 0 else '−'}{text} %"


def opening(found: Comparison) -> Iterator[str]:
    """Which runs, and what of them differs beside the cases."""
    yield f"before: {_run(found.before)}"
    yield f"after:  {_run(found.after)}"
    yield from (f"differs: {each}" for each in found.differs)


def _run(each: Named) -> str:
    return f"{each.id}, {each.grade} by {each.backend}, {each.created}, {each.cases:,} cases"


def closing(found: Comparison) -> Iterator[str]:
    """Counts, causes, and what could not be compared."""
    causes = Counter(cause for each in found.changes for cause in each.causes)
    if causes:
        yield "what differs of their inputs:"
        yield from _counted(causes)
    reasons = Counter(each.why for each in found.changes if each.verdict is None)
    if reasons:
        yield "without a verdict:"
        yield from _counted(reasons)
    if found.refused:
        yield "not compared (--across does):"
        yield from _counted(Counter(each.why for each in found.refused))
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


def _counted(found: Counter[str]) -> Iterable[str]:
    for said, count in found.most_common(_LISTED):
        yield f"  {said}: {count:,} {'case' if count == 1 else 'cases'}"
    if len(found) > _LISTED:
        yield f"  and {len(found) - _LISTED:,} more (--format json has all)"
