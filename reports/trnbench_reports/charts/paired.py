"""One value of two runs on one scale: the run before as an outline, the run after filled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trnbench import Change
from trnbench_reports import numbers

if TYPE_CHECKING:
    from markupsafe import Markup


def bars(change: Change, colour: int) -> Markup:
    """Widths are of the larger of the two, which is all of it; nothing where either has no value."""
    from markupsafe import Markup, escape

    before, after = change.before.value, change.after.value
    if before is None or after is None or max(before, after) <= 0:
        return Markup("")
    most, says = max(before, after), _says(change, before, after)
    return Markup(
        '<svg class="paired" width="120" height="20" viewBox="0 0 120 20" role="img" aria-label="{}">'
        '<rect class="a" x="0.5" y="1.5" width="{:.1f}" height="7"/>'
        '<rect class="b fill-{}" x="0" y="11" width="{:.1f}" height="8"/></svg>'
    ).format(escape(says), 119 * before / most, colour, 120 * after / most)


def _says(change: Change, before: float, after: float) -> str:
    return f"before {numbers.show(before, change.unit)}, after {numbers.show(after, change.unit)}"
