"""The time of a case as a model gives it, on cores or on links."""

from __future__ import annotations

from typing import Any

from trnbench.record import Record
from trnbench.results.measurement import Part


class Estimate(Record, kw_only=True):
    """Of a case. `parts` are what each cause would take alone; `bound` names the longest that overlaps.
    `loads`: as of an `Observation`."""

    time_s: float
    parts: tuple[Part, ...]
    bound: str
    implementation: str
    counters: dict[str, float]
    notes: tuple[str, ...] = ()
    detail: dict[str, Any] = {}
    doubts: tuple[str, ...] = ()
    loads: dict[str, float] = {}
    formula: str = ""  # where it was derived, not emulated: what was summed
