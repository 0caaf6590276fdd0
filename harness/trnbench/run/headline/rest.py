"""What takes the rest of the time of a case, largest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trnbench.results.measurement import Measurement
from trnbench.results.waterfall import from_peak, stored
from trnbench.run.headline.line import Cause

SHOWN = 3
LEAST = 0.005
"""Of the time: a smaller cause explains nothing."""
IDEAL = "ideal"
"""The first term of a fabric's waterfall: what its links allow."""


def rest(case: Measurement) -> tuple[Cause, ...]:
    """Shares of the time that the stored waterfall holds between the work at the judged peak and the time;
    none where a run stores none. Before they are cut to the largest they add up to 1 − share of the peak."""
    terms = stored(case)
    if not terms or not case.time_s:
        return ()
    (first, seconds), *others = terms
    if first == IDEAL:
        terms = (("links", seconds), *others)
    if case.judgement is not None:
        terms = from_peak(terms, case.judgement.fraction * case.time_s)
    causes = [Cause(name=name, share=share / case.time_s) for name, share in _net(terms[1:])]
    return tuple(
        sorted((each for each in causes if each.share >= LEAST), key=lambda each: (-each.share, each.name))
    )[:SHOWN]


def _net(terms: Sequence[tuple[str, float]]) -> Iterator[tuple[str, float]]:
    """What is gained, by a limit above the documented peak, is taken off the losses that follow it: only
    time beyond the work at the peak is told."""
    gained = 0.0
    for name, seconds in terms:
        left = seconds + gained
        gained = min(left, 0.0)
        if left > 0.0:
            yield name, left
