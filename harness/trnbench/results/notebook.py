"""What a notebook shows of a run: its cases with bars, bands and evidence, in one piece of HTML.

It fetches nothing, has no script and no style sheet, and takes the text's colour from the page around it, for
light and dark. Whatever comes from the run is escaped.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from trnbench.errors import counted, cut, visible
from trnbench.facts.units import percent, show
from trnbench.results.expectation import expected, expected_time, grey, least_time, nearness_of
from trnbench.results.measurement import ALARMING, Grade, Measurement, Status, status_words
from trnbench.results.run import Run

if TYPE_CHECKING:
    from jinja2 import Template

ROWS = 20
"""Cases shown; the rest is counted."""
LONGEST = 300
"""Characters of any text of the run."""
WIDEST = 1.5
"""Share of the peak beyond which a bar is cut off."""


class Row(NamedTuple):
    """One case; `bar` and `band` (from, length) in per cent of the width that there is."""

    case: str
    status: str
    alarm: bool
    result: str
    share: str
    bar: float | None
    band: tuple[float, float] | None
    evidence: str
    expect: str
    reason: str
    grey: bool


def html(run: Run) -> str:
    """At most `ROWS` cases: bad ones first, then those with a band, grey ones last; skipped ones counted."""
    told = [measurement for measurement in run.measurements if measurement.status is not Status.SKIPPED]
    chosen = sorted(told, key=lambda each: (each.status not in ALARMING, grey(each)))[:ROWS]
    scale = min(max([1.0, *map(_reach, chosen)]), WIDEST)
    rows = [_row(each, scale) for each in chosen]
    more = len(told) - len(rows)
    return _template().render(
        run=run,
        counts=status_words(run.counts()) or "no case",
        rows=rows,
        whole=round(100 / scale, 2),
        bands=any(row.band for row in rows),
        more=f"{counted(more, 'case')} more: run.measurements has them all" if more else "",
        means=_means(run),
    )


def _row(each: Measurement, scale: float) -> Row:
    metric, judged = each.metrics.get(each.primary), each.judgement
    interval = expected(each)
    band = _band(each)
    return Row(
        case=each.id,
        status=str(each.status),
        alarm=each.status in ALARMING,
        result=show(metric.value, metric.unit) if metric else "–",
        share=percent(judged.fraction) if judged else "",
        bar=_width(judged.fraction, scale) if judged else None,
        band=(_width(band[0], scale), round(_width(band[1], scale) - _width(band[0], scale), 2))
        if band
        else None,
        evidence=", ".join(filter(None, (str(each.evidence.grade), nearness_of(each)))),
        expect=" to ".join(show(end, metric.unit) for end in interval) if interval and metric else "",
        reason=each.reason_text if each.status in ALARMING else "",
        grey=grey(each),
    )


def _band(each: Measurement) -> tuple[float, float] | None:
    """Least and most of the peak to expect: of an emulated number by its nearest evidence, of a measured one
    by the interval between its processes."""
    judged, time_s, between = each.judgement, each.time_s, each.interval
    ends = expected_time(each.evidence, time_s, least_time(each))
    if ends is None and between is not None:
        ends = between.low, between.high
    if judged is None or ends is None or not time_s:
        return None
    # A share falls as the time rises, whichever way its metric counts.
    shares = sorted(judged.fraction * time_s / end for end in ends if end)
    return (shares[0], shares[-1]) if shares else None


def _reach(each: Measurement) -> float:
    """How far to the right its bar and band go, as a share of the peak."""
    band = _band(each)
    return max(each.judgement.fraction if each.judgement else 0.0, band[1] if band else 0.0)


def _width(share: float, scale: float) -> float:
    return round(min(max(share / scale, 0.0), 1.0) * 100, 2)


def _means(run: Run) -> str:
    if run.grade is Grade.EMULATED:
        return "Emulated: computed by a model, not run on the device."
    return "Measured: on the device that each case names."


@lru_cache(maxsize=1)
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    made = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_seen
    )
    return made.from_string(Path(__file__).with_suffix(".html.j2").read_text(encoding="utf-8"))


def _seen(value: Any) -> Any:
    return (
        cut(visible(value), LONGEST) if isinstance(value, str) and not hasattr(value, "__html__") else value
    )
