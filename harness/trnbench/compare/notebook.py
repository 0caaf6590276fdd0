"""What a notebook shows of a comparison: the cases that changed, in one piece of HTML without a script."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup, escape

from trnbench.compare.change import Change, Comparison, Side, change_text
from trnbench.errors import cut, visible
from trnbench.facts.units import show

ROWS = 50
"""Cases shown; the rest is counted."""
_LONGEST = 300
"""Characters of any text of a run."""
_HEADS = ("case", "change", "before", "after", "why")


def html(found: Comparison) -> Markup:
    """Counts and the runs, then a row for each case that changed or cannot be told."""
    changes = [change for change in found.changes if not change.equal]
    rows = Markup("").join(_row(change) for change in changes[:ROWS])
    heads = Markup("").join(
        Markup("<th scope=col style='text-align:left'>{}</th>").format(name) for name in _HEADS
    )
    table = Markup("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>").format(heads, rows)
    more = len(changes) - ROWS
    return Markup("<div><p><b>{}</b> → <b>{}</b>: {}</p>{}{}</div>").format(
        _seen(found.before.id), _seen(found.after.id), found.counts(), table if rows else "",
        Markup("<p>{:,} more: changes has them all</p>").format(more) if more > 0 else "",
    )  # fmt: skip


def _row(each: Change) -> Markup:
    return Markup("<tr>{}</tr>").format(
        Markup("").join(Markup("<td style='text-align:left'>{}</td>").format(cell) for cell in _cells(each))
    )


def _cells(each: Change) -> Iterator[str]:
    yield _seen(each.id)
    yield change_text(each)
    yield from (_value(each, side) for side in (each.before, each.after))
    yield _seen("; ".join(filter(None, (each.why, *each.causes))))


def _value(each: Change, side: Side | None) -> str:
    if side is None:
        return "–"
    return show(side.value, each.unit) if side.value is not None else str(side.status)


def _seen(text: str) -> str:
    return escape(cut(visible(text), _LONGEST))
