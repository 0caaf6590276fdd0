"""What changed from one run of the page to another: ranked by change, each bar with both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup, escape

import trnbench
from trnbench import Change, Run, RunComparison, Side, TrnbenchError, Verdict, grouped
from trnbench_reports import numbers, view
from trnbench_reports.template import fill

SHOWN = 60
"""Cases in the table, the largest changes; the command has all."""
_FIRST = 3
_REASONS = 8


def render(runs: Sequence[Run]) -> Markup | str:
    """Nothing of a page of one run."""
    parts = [_part(runs, index) for index in range(1, len(runs)) if runs[index].id != runs[0].id]
    return fill("comparison", parts=parts, bars=bars, **_WORDS) if parts else ""


def _part(runs: Sequence[Run], index: int) -> dict[str, Any]:
    """The first run of the page against a later one."""
    before, after = runs[0], runs[index]
    part = {"before": before, "after": after, "index": index, "nothing": ""}
    try:
        comparison = trnbench.compare_runs(before, after)
    except TrnbenchError as error:
        return {**part, "nothing": ": ".join(filter(None, (error.what, error.cause)))}
    changed = [change for change in comparison.changes if not (change.equal or change.absent)]
    shown = changed[:SHOWN]
    return {
        **part,
        "counts": comparison.counts(),
        "first": [change for change in shown if change.verdict.changed][:_FIRST],
        "differs": comparison.differs,
        "changes": shown,
        "without_band": [
            {each.id for each in run.measurements if view.faint(each)} for run in (before, after)
        ],
        "left_out": len(changed) - len(shown),
        "same": sum(change.equal for change in comparison.changes),
        "refused": Counter(change.why for change in comparison.refused).most_common(_REASONS),
        "lost": _absent(comparison, Verdict.LOST),
        "new": _absent(comparison, Verdict.NEW),
    }


def _absent(found: RunComparison, verdict: Verdict) -> tuple[str, ...]:
    """Cases that only one of the runs has."""
    return tuple(change.id for change in found.of(verdict) if change.absent)


def _point(change: Change) -> str:
    case = change.case
    return ", ".join((case.reach, *(f"{name}={value}" for name, value in case.point.items())))


def _why(change: Change) -> str:
    """What keeps a verdict away, its causes, and how far an exact ratio can be trusted."""
    order = change.order
    kept = (
        f"the model keeps {order} published pairs that differ by {order.gain} in order"
        if order is not None and order.pairs
        else ""
    )
    return "; ".join(filter(None, (change.why, *change.causes, kept)))


def _value(change: Change, side: Side | None) -> str:
    if side is None:
        return "–"
    if side.value is None:
        return str(side.status)
    return numbers.clean(numbers.show(side.value, change.unit), 40)


_WORDS = {"change": trnbench.change_text, "why": _why, "point": _point, "value": _value}
"""What templates say of a change by."""


def bars(change: Change, after: Run) -> Markup:
    """Widths are of the larger of the two, which is all of it; nothing where either has no value."""
    system = after.systems.get(change.case.instance)
    colour = view.colour(after, system.generation if system else change.case.generation)
    first, second = (side.value if side is not None else None for side in (change.before, change.after))
    if first is None or second is None or max(first, second) <= 0:
        return Markup("")
    most = max(first, second)
    says = f"before {numbers.show(first, change.unit)}, after {numbers.show(second, change.unit)}"
    return Markup(
        '<svg class="paired" width="120" height="20" viewBox="0 0 120 20" role="img" aria-label="{}">'
        '<rect class="a" x="0.5" y="1.5" width="{:.1f}" height="7"/>'
        '<rect class="b fill-{}" x="0" y="11" width="{:.1f}" height="8"/></svg>'
    ).format(escape(says), 119 * first / most, colour, 120 * second / most)


LARGEST = 3
"""Changes that the first screen names."""


def since(before: Run, after: Run, index: int) -> Markup:
    """What changed, a group for each verdict and cause, what broke first; `index` is that of `after` on its
    page.

    Nothing where the two cannot be compared.
    """
    try:
        comparison = trnbench.compare_runs(before, after)
    except TrnbenchError:
        return Markup("")
    moved = [each for each in comparison.changes if each.verdict.changed and not each.absent]
    equal = sum(each.equal for each in comparison.changes)
    alone = sum(each.absent for each in comparison.changes)
    counts = Counter((change.verdict, _why(change)) for change in moved)
    groups = grouped(moved[:LARGEST], lambda change: (change.verdict, _why(change)))
    return fill(
        "since",
        before=before,
        index=index,
        groups=[(key[1], group, counts[key] - len(group)) for key, group in groups.items()],
        **_WORDS,
        moved=len(moved),
        nothing=not moved and not alone,
        same=equal,
        unsure=len(comparison.changes) - len(moved) - equal - alone,
        lost=_absent(comparison, Verdict.LOST),
        new=_absent(comparison, Verdict.NEW),
    )
