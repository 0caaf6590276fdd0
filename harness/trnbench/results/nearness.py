"""How near the nearest published evidence stands to an emulated number, and what may be expected of it."""

from __future__ import annotations

import math
from enum import Enum

import msgspec


class Nearness(str, Enum):
    """Nearest first. The last two have no band: such a number is grey, never first, never an interval."""

    SAME = "same"  # this kernel, this generation, size within a factor of 2 in each axis
    KERNEL = "kernel"  # this kernel, this generation, another size
    OPERATION = "operation"  # another kernel of the same operation and data type on this generation
    FAMILY = "family"  # the same family on this generation
    ELSEWHERE = "elsewhere"  # the same kernel or family on another generation only
    NONE = "none"  # nothing is published

    def __str__(self) -> str:
        return self.value

    @property
    def banded(self) -> bool:
        return self not in (Nearness.ELSEWHERE, Nearness.NONE)


class Band(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ends of e = ln(model time / published time): one more vote of the class lies beyond each with a
    probability of 10 % at most.

    `votes` kernels with `points` points stand behind it; `widened`: towards what it was widened, a class
    since too few do or the ranges of its assumptions, "" for neither.
    """

    low: float
    high: float
    votes: int
    points: int
    widened: str = ""

    def times(self, time_s: float, least_s: float = 0.0) -> tuple[float, float]:
        """What a modelled time lets one expect of the machine, in seconds: least and most.

        No less than `least_s`, which clocks and rates allow, unless the modelled time is less.
        """
        least = max(time_s * math.exp(-self.high), min(least_s, time_s))
        return least, max(time_s * math.exp(-self.low), least)


class BestPublished(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The best that others measured of the same metric, of the nearest class that has such a point.

    `at`: its size and ranks in words, "" where they are those asked for. `reaches`: whether its size lets it
    bound the number; a rate of a small size bounds none of a large one.
    """

    id: str
    metric: str  # as `Metric.name`
    value: float  # in the base unit of the metric
    unit: str
    source: str
    kind: Nearness  # how near that point is
    at: str = ""
    reaches: bool = True


class Limit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A published inequality: what was measured leaves at most `time_s` seconds."""

    id: str
    time_s: float


class Nearest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`points` are ids of the nearest published points, nearest first, at most three. `note` says why there
    is no band, or that it is of the shipped model; `limit` the tightest inequality that bounds the time of a
    collective in a graph. Emulated evidence without a `Nearest` was stored before
    nearness was recorded.
    """

    kind: Nearness
    points: tuple[str, ...] = ()
    band: Band | None = None
    best: BestPublished | None = None
    note: str = ""
    limit: Limit | None = None
