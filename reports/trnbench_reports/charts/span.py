"""From the least to the best of a sweep, as a bar of a cell: shares of the peak from nothing to all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup

_FULL = 1.1
"""Share at the right end: what exceeds its document is still seen to."""


def draw(low: float | None, high: float, grade: str) -> Markup:
    """`low` is None for a single case: then only where it stands is marked."""
    from markupsafe import Markup

    def at(share: float) -> float:
        return max(0.0, min(share, _FULL)) / _FULL * 100

    end = at(high)
    start = at(low) if low is not None else end
    return Markup(
        '<svg class="span" width="100%" height="9" aria-hidden="true">'
        f'<path class="rail" d="M0 4.5H999"/><rect class="fill g-{grade}" x="{start:.1f}%" y="1.5"'
        f' width="{max(end - start, 0):.1f}%" height="6"/>'
        f'<rect class="best" x="{end:.1f}%" width="2.5" height="9"/>'
        f'<rect class="full" x="{100 / _FULL:.1f}%" width="1" height="9"/></svg>'
    )
