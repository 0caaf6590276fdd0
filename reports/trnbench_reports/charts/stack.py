"""Where a time goes, as one bar of shares, and beside it when each engine was busy.

Both fit any width: places are per cent, or a box that is stretched and has no words in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

from trnbench import Record
from trnbench_reports import glossary, numbers
from trnbench_reports.charts.figure import Figure, Plane, Series, linear, row_scale

KINDS = 5
"""Parts of a bar: the work at the peak, then causes by size; the last is all the rest."""
_LANE, _GAP = 7, 1


def bar(parts: Sequence[tuple[str, float]], work: str = "") -> Markup:
    """`parts` are (name, share of the time); `work` is the one at the peak. Colours are those of causes."""
    shapes, start = [], 0.0
    for name, share in parts:
        wide = max(0.0, min(share, 1.0 - start))
        title = escape(f"{numbers.clean(name, 60)}: {numbers.percent(share)}")
        cause = "work" if name == work else glossary.cause(name)
        shapes.append(
            f'<rect class="c-{cause}" x="{start * 100:.2f}%" width="{wide * 100:.2f}%" height="14">'
            f"<title>{title}</title></rect>"
        )
        start += wide
    label = escape("; ".join(f"{numbers.clean(name, 60)} {numbers.percent(share)}" for name, share in parts))
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
    label = escape(numbers.clean(label, 300))
    return Markup(
        f'<svg class="strip" viewBox="0 0 {wide} {high}" width="100%" height="{high}"'
        f' preserveAspectRatio="none" role="img" aria-label="{label}">'
        f"<title>{label}</title>{''.join(shapes)}</svg>"
    )


PARTS = {
    "ideal": "bandwidth bound",
    "algorithm": "algorithm",
    "contention": "contention",
    "latency": "latency",
    "endpoint": "endpoint",
}
COLOURS = {part: "work" if part == "ideal" else glossary.cause(part) for part in PARTS}
SYMBOL = "■"
_ROW, _BAR = 19, 12


class Spent(Record, kw_only=True):
    """Seconds by part, in the order of PARTS."""

    name: str
    anchor: str
    seconds: dict[str, float]
    total: float
    evidence: str


def draw(id: str, title: str, bars: Sequence[Spent], caption: str) -> Figure:
    """Every total is positive."""
    ticks = [(part, f"{part:.0f} %") for part in (0, 25, 50, 75, 100)]
    plane = Plane(
        linear("share of the time", 0, 100, ticks),
        row_scale([bar.name for bar in bars]),
        width=380,
        height=_ROW * len(bars),
    )
    for row, bar in enumerate(bars):
        start = 0.0
        for index, (part, words_) in enumerate(PARTS.items()):
            share = bar.seconds[part] / bar.total
            if share <= 0:
                continue
            says = (
                f"{bar.name}: {words_} {numbers.show(bar.seconds[part], 's')}, "
                f"{numbers.percent(share)} · {bar.evidence}"
            )
            plane.bar(
                start * 100,
                (start + share) * 100,
                row + 0.5,
                thick=_BAR,
                colour=f"var(--c-{COLOURS[part]})",
                says=says,
                anchor=bar.anchor,
                series=index,
            )
            start += share
    return Figure(
        id=id,
        title=title,
        drawing=plane.svg(f"{title}. {len(bars)} bars."),
        caption=caption,
        series=tuple(
            Series(index=i, name=name, symbol=SYMBOL, colour=COLOURS[part])
            for i, (part, name) in enumerate(PARTS.items())
        ),
        columns=("collective", "time", *PARTS.values(), "evidence"),
        rows=tuple(
            (
                bar.anchor,
                (
                    bar.name,
                    numbers.show(bar.total, "s"),
                    *(numbers.percent(bar.seconds[part] / bar.total) for part in PARTS),
                    bar.evidence,
                ),
            )
            for bar in bars
        ),
    )
