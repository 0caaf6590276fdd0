"""From the time that a kernel's work takes at a documented peak to the time it took."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trnbench.results.measurement import Measurement

AT_PEAK = " at its peak"
"""Ends the name of a model's first term: the time at the model's own limit of an engine or a memory."""

JUDGED = "the peak it is judged by"

_TOLERANCE = 1e-6


def from_peak(
    terms: Sequence[tuple[str, float]], peak_s: float, *, name: str = JUDGED
) -> tuple[tuple[str, float], ...]:
    """`terms` (name, seconds) begin at the model's limit; the result begins at `peak_s`, which is `name`.

    The model's limit is not what a document prints: the step between the two is a term of its own, negative
    where the document promises less than the clock allows. The sum stays. Without a peak nothing changes.
    """
    if not terms or not math.isfinite(peak_s) or peak_s <= 0:
        return tuple(terms)
    (limit, seconds), *rest = terms
    step = seconds - peak_s
    if abs(step) <= _TOLERANCE * math.fsum(each for _, each in terms):
        return ((name, seconds), *rest)
    return ((name, peak_s), (f"limit of {limit.removesuffix(AT_PEAK)} in the model", step), *rest)


def stored(case: Measurement) -> tuple[tuple[str, float], ...]:
    """The terms (name, seconds) that a backend left in `detail`, of a core ("waterfall") or of links
    ("waterfall_s"); nothing where they do not add up to the time. Runs may come from anywhere."""
    total = case.time_s
    if not total or not math.isfinite(total) or total <= 0:
        return ()
    waterfall = case.detail.get("waterfall")
    if waterfall is None and isinstance(case.detail.get("waterfall_s"), Mapping):
        waterfall = [[name, seconds] for name, seconds in case.detail["waterfall_s"].items()]
    if not isinstance(waterfall, list | tuple) or len(waterfall) < 2:
        return ()
    terms = []
    for item in waterfall:
        if not isinstance(item, list | tuple) or len(item) != 2:
            return ()
        seconds = item[1]
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not math.isfinite(seconds):
            return ()
        terms.append((str(item[0]), float(seconds)))
    if abs(math.fsum(seconds for _, seconds in terms) - total) > _TOLERANCE * total:
        return ()
    return tuple(terms)
