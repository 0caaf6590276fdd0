"""What changed against the run before: the three largest on the first screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trnbench
from trnbench import Change, Run, TrnbenchError, Verdict
from trnbench_reports import address, numbers, words
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup

SHOWN = 3


def render(before: Run, after: Run, index: int) -> Markup:
    """`index` is that of `after` on its page. Nothing where the two cannot be compared."""
    from markupsafe import Markup

    try:
        comparison = trnbench.compare_runs(before, after)
    except TrnbenchError:
        return Markup("")
    moved = [each for each in comparison.changes if each.verdict in (Verdict.FASTER, Verdict.SLOWER)]
    moved.sort(key=lambda each: -abs(each.effect or 0.0))
    same = sum(1 for each in comparison.changes if each.exact and not each.effect)
    return fill(
        "since",
        before=before,
        rows=[_row(index, each) for each in moved[:SHOWN]],
        more=len(moved) - SHOWN,
        same=same,
        unsure=len(comparison.changes) - len(moved) - same,
        missing=len(comparison.missing),
        new=len(comparison.new),
    )


def _row(index: int, change: Change) -> dict[str, str]:
    def value(side: trnbench.Side) -> str:
        if side.value is None:
            return str(side.status)
        return words.clean(numbers.show(side.value, change.unit), 40)

    return {
        "case": change.after.id,
        "change": trnbench.change_text(change),
        "before": value(change.before),
        "after": value(change.after),
        "address": address.figure_by_id(index, change.after.id, change.metric),
        "why": "; ".join(filter(None, (change.why, *change.causes))),
    }
