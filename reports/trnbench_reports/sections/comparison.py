"""What changed from one run of the page to another: ranked by change, each bar with both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING

import msgspec
from markupsafe import Markup, escape

import trnbench
from trnbench import Change, Run, RunComparison, Side, TrnbenchError, Verdict
from trnbench_reports import numbers, view
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup


SHOWN = 60
"""Cases in the table, the largest changes; the command has all."""
_FIRST = 3
_REASONS = 8


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One case in both runs; texts, and the addresses that explain its two values."""

    kernel: str
    system: str
    point: str
    before: str
    after: str
    before_at: str
    after_at: str
    bar: Markup
    change: str
    effect: str  # the number that the column sorts by
    why: str
    faint: bool = False  # no band says how far one of its values can be trusted


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """The first run of the page against a later one."""

    before: str
    after: str
    counts: str = ""
    first: tuple[Row, ...] = ()
    differs: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    left_out: int = 0
    same: int = 0
    refused: tuple[tuple[str, int], ...] = ()
    lost: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    nothing: str = ""


def render(runs: Sequence[Run]) -> Markup | str:
    """Nothing of a page of one run."""
    parts = [_part(runs, index) for index in range(1, len(runs)) if runs[index].id != runs[0].id]
    return fill("comparison", parts=parts) if parts else ""


def _part(runs: Sequence[Run], index: int) -> Part:
    before, after = runs[0], runs[index]
    try:
        comparison = trnbench.compare_runs(before, after)
    except TrnbenchError as error:
        reason = ": ".join(filter(None, (error.what, error.cause)))
        return Part(before=before.id, after=after.id, nothing=reason)
    changed = [change for change in comparison.changes if not (change.equal or change.absent)]
    bare = [{each.id for each in run.measurements if view.faint(each)} for run in (before, after)]
    rows = tuple(_row(runs, index, change, bare) for change in changed[:SHOWN])
    moved = [row for row, change in zip(rows, changed, strict=False) if change.verdict.changed]
    return Part(
        before=before.id,
        after=after.id,
        counts=comparison.counts(),
        first=tuple(moved[:_FIRST]),
        differs=comparison.differs,
        rows=rows,
        left_out=len(changed) - len(rows),
        same=sum(change.equal for change in comparison.changes),
        refused=tuple(Counter(change.why for change in comparison.refused).most_common(_REASONS)),
        lost=_absent(comparison, Verdict.LOST),
        new=_absent(comparison, Verdict.NEW),
    )


def _absent(found: RunComparison, verdict: Verdict) -> tuple[str, ...]:
    """Cases that only one of the runs has."""
    return tuple(change.id for change in found.of(verdict) if change.absent)


def _row(runs: Sequence[Run], index: int, change: Change, bare: Sequence[Container[str]]) -> Row:
    """`bare` are the cases of the two runs without a band."""
    case = change.case
    sides = zip((change.before, change.after), bare, strict=True)
    system = runs[index].systems.get(case.instance)
    return Row(
        kernel=case.kernel,
        system=case.instance,
        point=", ".join((case.reach, *(f"{name}={value}" for name, value in case.point.items()))),
        before=_value(change, change.before),
        after=_value(change, change.after),
        before_at=_address(0, change, change.before),
        after_at=_address(index, change, change.after),
        bar=bars(change, view.colour(runs[index], system.generation if system else case.generation)),
        change=trnbench.change_text(change),
        effect=repr(change.effect) if change.effect is not None else "",
        why=_why(change),
        faint=any(side is not None and side.id in cases for side, cases in sides),
    )


def _address(index: int, change: Change, side: Side | None) -> str:
    return view.figure_by_id(index, side.id, change.metric) if side is not None else ""


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


def bars(change: Change, colour: int) -> Markup:
    """Widths are of the larger of the two, which is all of it; nothing where either has no value."""
    before, after = (side.value if side is not None else None for side in (change.before, change.after))
    if before is None or after is None or max(before, after) <= 0:
        return Markup("")
    most = max(before, after)
    says = f"before {numbers.show(before, change.unit)}, after {numbers.show(after, change.unit)}"
    return Markup(
        '<svg class="paired" width="120" height="20" viewBox="0 0 120 20" role="img" aria-label="{}">'
        '<rect class="a" x="0.5" y="1.5" width="{:.1f}" height="7"/>'
        '<rect class="b fill-{}" x="0" y="11" width="{:.1f}" height="8"/></svg>'
    ).format(escape(says), 119 * before / most, colour, 120 * after / most)


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
    groups: dict[tuple[Verdict, str], list[Change]] = {}
    for change in moved[:LARGEST]:
        groups.setdefault((change.verdict, _why(change)), []).append(change)
    return fill(
        "since",
        before=before,
        groups=[
            {
                "why": key[1],
                "rows": [_change_row(index, each) for each in group],
                "more": counts[key] - len(group),
            }
            for key, group in groups.items()
        ],
        moved=len(moved),
        nothing=not moved and not alone,
        same=equal,
        unsure=len(comparison.changes) - len(moved) - equal - alone,
        lost=_absent(comparison, Verdict.LOST),
        new=_absent(comparison, Verdict.NEW),
    )


def _change_row(index: int, change: Change) -> dict[str, str]:
    return {
        "case": change.id,
        "change": trnbench.change_text(change),
        "before": _value(change, change.before),
        "after": _value(change, change.after),
        "address": _address(index, change, change.after),
    }
