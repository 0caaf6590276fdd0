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
    """p10 to p90 of e = ln(model time / published time) over the points that land in the class.

    `votes` kernels with `points` points stand behind it; `widened`: the class towards which it was widened
    since too few did, "" where enough do.
    """

    low: float
    high: float
    votes: int
    points: int
    widened: str = ""

    def times(self, time_s: float) -> tuple[float, float]:
        """What a modelled time lets one expect of the machine, in seconds: least and most."""
        return time_s * math.exp(-self.high), time_s * math.exp(-self.low)


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


class Nearest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`points` are ids of the nearest published points, nearest first, at most three. `note` says why there
    is no band, or that it is of the shipped model. Emulated evidence without a `Nearest` was stored before
    nearness was recorded.
    """

    kind: Nearness
    points: tuple[str, ...] = ()
    band: Band | None = None
    best: BestPublished | None = None
    note: str = ""
