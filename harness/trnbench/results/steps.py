"""Where a series of results moved to another level, and by how much.

Measured values: their logarithms by PELT, with the penalty 4·ln(n)·σ² for each step, n at least 30. σ
is the noise from run to run, by the median of neighbours' differences; a value further than 3σ from the
median of the five around it counts as that far, so that one bad run is no step. Emulated values are
exact: every change is one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from statistics import median

import msgspec

from trnbench.results.pelt import levels

LEAST = 3
"""Runs of a measured series on either side of a step: fewer may be chance."""

SMALLEST = 1e-3
"""Noise that is taken at least, relative: clocks and rounding are no better, and no step is below it."""

_EXACT = 1e-9  # emulated values that differ by less are the same, printed by another Python
_NORMAL = 0.6745 * math.sqrt(2.0)  # the median of |a − b| of two normal values, in σ
_PENALTY = 4.0
_SHORT = 30  # runs: of fewer, σ itself is uncertain
_FAR = 3.0  # σ: two bad runs in a row stay below the penalty too
_AROUND = 5  # values, the one itself in their middle but at the ends


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From value `at` on the level is another one: `before` and `after` are medians of the two levels."""

    at: int
    before: float
    after: float

    @property
    def change(self) -> float:
        """0.05: 5 % above the level before."""
        return self.after / self.before - 1.0 if self.before else math.inf


def steps(values: Sequence[float], *, exact: bool) -> tuple[Step, ...]:
    """The steps of a series of positive values, in order. `exact`: values without noise."""
    if not all(math.isfinite(each) and each > 0.0 for each in values):
        raise ValueError("a series of results has positive numbers alone")
    cuts = _changes(values) if exact else _measured([math.log(each) for each in values])
    ends = [0, *cuts, len(values)]
    middles = [median(values[start:end]) for start, end in itertools.pairwise(ends) if end > start]
    return tuple(
        Step(at=cut, before=before, after=after)
        for cut, before, after in zip(cuts, middles, middles[1:], strict=False)
    )


def _changes(values: Sequence[float]) -> list[int]:
    return [at for at in range(1, len(values)) if abs(values[at] / values[at - 1] - 1.0) > _EXACT]


def _measured(values: Sequence[float]) -> list[int]:
    if len(values) < 2 * LEAST:
        return []
    apart = [abs(b - a) for a, b in itertools.pairwise(values)]
    noise = max(median(apart) / _NORMAL, SMALLEST)
    return levels(
        _tamed(values, _FAR * noise), _PENALTY * math.log(max(len(values), _SHORT)) * noise**2, least=LEAST
    )


def _tamed(values: Sequence[float], far: float) -> list[float]:
    tamed = []
    for at, value in enumerate(values):
        start = min(max(0, at - _AROUND // 2), len(values) - _AROUND)
        middle = median(values[start : start + _AROUND])
        tamed.append(min(max(value, middle - far), middle + far))
    return tamed
