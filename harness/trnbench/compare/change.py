"""What a comparison says of each case and of the two runs, and its words."""

from __future__ import annotations

from enum import Enum

import msgspec

from trnbench.results.measurement import CaseKey, Grade, Measurement, Status
from trnbench.results.statistics import Interval


class Verdict(str, Enum):
    FASTER = "faster"
    SLOWER = "slower"
    SAME = "no difference shown"

    def __str__(self) -> str:
        return self.value


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """A case in one of the runs, as far as a comparison shows it. `value` is seconds, or the case's metric
    where it has no time."""

    id: str
    value: float | None
    status: Status
    grade: Grade
    by: str
    version: str
    fraction: float | None = None  # of its peak
    reason: str = ""
    processes: int = 0


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One case in both runs.

    `effect` is the time after over the time before, minus 1: 0.05 takes 5 % longer, −0.05 is 5 % less; for a
    metric of which more is better it is that of its inverse. `interval` is of `effect`, before it is known
    how many cases are asked; `p` is the chance of such a difference without a change, after (Holm).
    `verdict` is None where none can be given, and `why` says why; `causes` likeliest first.
    """

    case: CaseKey
    metric: str  # "time_s", or what stands in for it
    unit: str
    better: str = "lower"
    before: Side
    after: Side
    effect: float | None = None
    interval: Interval | None = None
    p: float | None = None
    exact: bool = False  # of a model: the same inputs give the same number
    verdict: Verdict | None = None
    why: str = ""
    causes: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The case where it is the same in both, else the one before and the one after."""
        return self.after.id if self.before.id == self.after.id else f"{self.before.id} → {self.after.id}"


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """A case whose numbers are not of one kind, and why."""

    id: str
    why: str


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """A run as a comparison names it."""

    id: str
    created: str
    grade: Grade
    backend: str
    tool_version: str
    cases: int


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """`changes` by effect, the largest first, those without a verdict last.

    `differs`: what is not the same of machine, versions and settings, a line each. `missing` are cases of
    `before` alone, `new` those of `after` alone. `threshold` is the effect below which nothing is called
    faster or slower.
    """

    before: Named
    after: Named
    threshold: float | None
    confidence: float
    differs: tuple[str, ...]
    changes: tuple[Change, ...]
    refused: tuple[Refused, ...] = ()
    missing: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    skipped: int = 0  # in both
    notes: tuple[str, ...] = ()

    def of(self, verdict: Verdict | None) -> tuple[Change, ...]:
        """The changes with this verdict; with None those without one."""
        return tuple(change for change in self.changes if change.verdict is verdict)


def side_of(measurement: Measurement, value: float | None) -> Side:
    """`value` as `Side` has it."""
    judged = measurement.judgement
    return Side(
        id=measurement.id,
        value=value,
        status=measurement.status,
        grade=measurement.evidence.grade,
        by=measurement.evidence.by,
        version=measurement.evidence.version,
        fraction=judged.fraction if judged else None,
        reason=measurement.reason_text or str(measurement.reason),
        processes=len(measurement.processes),
    )


def interval_text(each: Change) -> str:
    """`+1.2 to +3.4 %`, `exact` for a model; "" where there is none."""
    if each.interval is None:
        return "exact" if each.exact else ""
    low, high = (signed_percent(end).removesuffix(" %") for end in (each.interval.low, each.interval.high))
    return f"{low} to {high} %"


def signed_percent(effect: float) -> str:
    """`+5.0 %`, `−0.03 %`: as many digits as tell it from nothing."""
    share = 100.0 * effect
    if not share:
        return "0 %"
    size = round(abs(share), 6)  # 0.09999999 is 0.1
    digits = 1 if size >= 0.1 else 2 if size >= 0.01 else 3
    text = f"{size:,.0f}" if size >= 1000 else f"{size:.{digits}f}"
    if not text.strip("0."):
        text = "<0.001"
    return f"{'+' if share > 0 else '−'}{text} %"


def change_text(each: Change) -> str:
    """`+8.5 % (exact), slower`, `+1.0 % (−0.9 to +3.0 %), no difference shown`; "" where nothing is known."""
    if each.effect is None:
        return ""
    if each.exact and not each.effect:
        return "the same"
    interval = interval_text(each)
    shown = f"{signed_percent(each.effect)}{f' ({interval})' if interval else ''}"
    return f"{shown}, {each.verdict}" if each.verdict else shown
