"""Where a time goes, as one bar of shares, and beside it when each engine was busy.

Both fit any width: places are per cent, or a box that is stretched and has no words in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from trnbench_reports import glossary, numbers, words

if TYPE_CHECKING:
    from markupsafe import Markup

KINDS = 5
"""Parts of a bar: the work at the peak, then causes by size; the last is all the rest."""
_LANE, _GAP = 7, 1


def bar(parts: Sequence[tuple[str, float]], work: str = "") -> Markup:
    """`parts` are (name, share of the time); `work` is the one at the peak. Colours are those of causes."""
    shapes, start = [], 0.0
    for name, share in parts:
        wide = max(0.0, min(share, 1.0 - start))
        title = escape(f"{words.clean(name, 60)}: {numbers.percent(share)}")
        cause = "work" if name == work else glossary.cause(name)
        shapes.append(
            f'<rect class="c-{cause}" x="{start * 100:.2f}%" width="{wide * 100:.2f}%" height="14">'
            f"<title>{title}</title></rect>"
        )
        start += wide
    label = escape("; ".join(f"{words.clean(name, 60)} {numbers.percent(share)}" for name, share in parts))
    return Markup(
        f'<svg class="stack" width="100%" height="14" role="img" aria-label="{label}">{"".join(shapes)}</svg>'
    )


def legend(names: Iterable[str], *, work: bool = True) -> Markup:
    """The colours of `names`, each cause once, in the order of `CAUSES`; `work` at the peak is first."""
    present = {glossary.cause(name) for name in names} | ({"work"} if work else set())
    marks = Markup("").join(
        Markup(
            '<li><svg width="12" height="12" aria-hidden="true"><rect class="c-{}" width="12" height="12"/>'
            "</svg> {}</li>"
        ).format(kind, text)
        for kind, text in glossary.CAUSES.items()
        if kind in present
    )
    return Markup('<ul class="key" aria-label="Colours of causes">{}</ul>').format(marks)


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
