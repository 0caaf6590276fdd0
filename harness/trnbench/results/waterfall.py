"""From the time that a kernel's work takes at a documented peak to the time it took."""

from __future__ import annotations

import math
from collections.abc import Sequence

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
