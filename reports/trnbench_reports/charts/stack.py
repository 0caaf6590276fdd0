"""Where a time goes, as one bar of shares, and beside it when each engine was busy.

Both fit any width: places are per cent, or a box that is stretched and has no words in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from trnbench_reports import numbers, words

if TYPE_CHECKING:
    from markupsafe import Markup

KINDS = 5
"""Classes `t0` … of the style sheet: the work at the peak, then causes by size; the last is all the rest."""
_LANE, _GAP = 7, 1


def bar(parts: Sequence[tuple[str, float]]) -> Markup:
    """`parts` are (name, share of the time); the first is the work at the peak, the others largest first."""
    shapes, at = [], 0.0
    for number, (name, share) in enumerate(parts):
        wide = max(0.0, min(share, 1.0 - at))
        title = escape(f"{words.clean(name, 60)}: {numbers.percent(share)}")
        shapes.append(
            f'<rect class="t{min(number, KINDS - 1)}" x="{at * 100:.2f}%" width="{wide * 100:.2f}%"'
            ' height="14">'
            f"<title>{title}</title></rect>"
        )
        at += wide
    label = escape("; ".join(f"{words.clean(name, 60)} {numbers.percent(share)}" for name, share in parts))
    return Markup(
        f'<svg class="stack" width="100%" height="14" role="img" aria-label="{label}">{"".join(shapes)}</svg>'
    )


def strip(lanes: Sequence[tuple[str, Sequence[float]]], label: str) -> Markup:
    """`lanes` are (engine, busy shares of equal spans); there is at least one."""
    shapes = []
    wide = max(len(shares) for _, shares in lanes)
    for number, (_, shares) in enumerate(lanes):
        ground = (number + 1) * (_LANE + _GAP) - _GAP
        steps = [f"M0 {ground}"]
        before: float | None = None
        for at, share in enumerate(shares):
            high = round(ground - _LANE * share, 1)
            if high != before:
                steps.append(f"H{at * wide / len(shares):g}V{high:g}")
                before = high
        steps.append(f"H{wide}V{ground}Z")
        shapes.append(f'<path d="{"".join(steps)}"/>')
    high = len(lanes) * (_LANE + _GAP) - _GAP
    return Markup(
        f'<svg class="strip" viewBox="0 0 {wide} {high}" width="100%" height="{high}"'
        f' preserveAspectRatio="none" role="img" aria-label="{escape(words.clean(label, 300))}">'
        f"{''.join(shapes)}</svg>"
    )
