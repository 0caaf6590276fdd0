"""What the composed step says of a published one: seconds without constants, and what each constant adds.

What reads answers that are kept imports this, and nothing that works steps out.
"""

from __future__ import annotations

import math

import msgspec

from trnbench_steps.step_constants import UNITS, StepConstants

NAMES = tuple(UNITS)
"""Constants in the order of a row's coefficients."""


class StepAnswer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`rows`: of each pipeline stage that may be the slowest, seconds without constants and then seconds for
    one of each of `NAMES` (a second, or a share of 1). `starts_s` of them are the starts of its collectives,
    `moving_s` what these take beside. `why`: the reason where there is no answer, and then nothing else.

    `published_s`, `floor_s` and `naive_s` are what was measured, what documents allow at best, and the sum
    that people make on paper. `span_s`: the least and the most that sources print of the same step, where
    they contradict each other.
    """

    id: str
    generation: str
    family: str = ""
    vote: str = ""
    published_s: float = 0.0
    span_s: tuple[float, float] | None = None
    floor_s: float = 0.0
    naive_s: float = 0.0
    rows: tuple[tuple[float, ...], ...] = ()
    starts_s: float = 0.0
    moving_s: float = 0.0
    roofline_share: float = 0.0
    why: str = ""

    def time_s(self, constants: StepConstants) -> float:
        """Of the stage that takes longest with these constants."""
        values = (1.0, *(float(getattr(constants, name)) for name in NAMES))
        return max(sum(a * b for a, b in zip(row, values, strict=True)) for row in self.rows)

    @property
    def printed_s(self) -> tuple[float, float]:
        """The least and the most that is printed of it."""
        return self.span_s or (self.published_s, self.published_s)

    def error(self, seconds: float) -> float:
        """ln(seconds / published); of a contradicted step 0 inside what its sources span, else the distance
        to the nearer end."""
        least, most = self.printed_s
        return math.log(seconds / min(max(seconds, least), most))
