"""A rule: which cases it speaks of, and what of them is not good enough."""

from __future__ import annotations

from enum import Enum
from fnmatch import fnmatchcase

import msgspec

from trnbench.results.measurement import CaseKey


class Direction(str, Enum):
    """Which way a value has to go to break a rule."""

    WORSE = "worse"
    BETTER = "better"  # a number that improves by itself is wrong as often as not
    EITHER = "either"
    NONE = "none"  # the value may go where it will; failures, shares of peaks and ages still count

    def __str__(self) -> str:
        return self.value


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """`kernel`, `system` and `case` are names or globs, all of which have to fit.

    `metric` is "time_s" or one of a measurement's metrics. `tolerance` is a share, 0.02 for 2 %; None stands
    for 3 % of measured and nothing of emulated values. `least_of_peak` is the share of its peak that a case
    has to reach, `oldest_days` how old what it is held against may be.
    """

    name: str
    kernel: str = "*"
    system: str = "*"
    case: str = "*"
    metric: str = "time_s"
    direction: Direction = Direction.WORSE
    tolerance: float | None = None
    least_of_peak: float | None = None
    oldest_days: float | None = None

    def fits(self, case: CaseKey) -> bool:
        """Whether the rule speaks of this case."""
        return (
            fnmatchcase(case.kernel, self.kernel)
            and fnmatchcase(case.instance, self.system)
            and _fits_name(case.fullname, self.case)
        )


def _fits_name(name: str, pattern: str) -> bool:
    """Case names have brackets in them, which a glob would read as a set of characters."""
    return fnmatchcase(name, pattern.replace("[", "[[]"))


USUAL = Rule(name="usual")
"""What holds of cases that no other rule speaks of: nothing slower, and no emulated time that rose."""
