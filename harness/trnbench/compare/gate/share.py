"""How much of its peak a case reaches, with the interval of its time."""

from __future__ import annotations

from typing import NamedTuple

from trnbench.facts.format import percent
from trnbench.results.measurement import Measurement


class Share(NamedTuple):
    """1.0 is the peak; without an interval of the time both ends are the value."""

    value: float
    low: float
    high: float

    @property
    def interval(self) -> str:
        """`71.2 to 73.0 %`, or `exact`."""
        if self.low == self.high:
            return "exact"
        return f"{percent(self.low).removesuffix(' %')} to {percent(self.high)}"


def share_of_peak(one: Measurement) -> Share | None:
    """A rate is work over time: the longest time makes the least of it. None without a peak."""
    if one.judgement is None:
        return None
    value = one.judgement.fraction
    if one.interval is None or not one.time_s or not one.interval.low > 0.0:
        return Share(value, value, value)
    return Share(value, value * one.time_s / one.interval.high, value * one.time_s / one.interval.low)
