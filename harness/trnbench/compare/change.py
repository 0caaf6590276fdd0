"""What a comparison says of each case and of the two runs, and its words."""

from __future__ import annotations

from trnbench.case_key import CaseKey, joint
from trnbench.facts.units import signed_percent
from trnbench.record import Record
from trnbench.reference import resolve
from trnbench.results.fidelity import OrderKept
from trnbench.results.measurement import Grade, Measurement, Status, Verdict
from trnbench.results.statistics import Interval


class Side(Record, kw_only=True):
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


class Change(Record, kw_only=True):
    """One case of the two runs; `before` or `after` is None where only the other run has it.

    `effect` is the time after over the time before, minus 1: 0.05 takes 5 % longer, −0.05 is 5 % less; for a
    metric of which more is better it is that of its inverse. `interval` is of `effect`, before it is known
    how many cases are asked; `p` is the chance of such a difference without a change, after (Holm). `bands`
    are the ends to expect of the value before and of that after, where these decide. `why` says what keeps a
    verdict away; `causes` likeliest first.
    """

    case: CaseKey
    metric: str = "time_s"  # or what stands in for it
    unit: str = "s"
    better: str = "lower"
    before: Side | None
    after: Side | None
    effect: float | None = None
    interval: Interval | None = None
    p: float | None = None
    exact: bool = False  # one model version on one system: only the software changed
    bands: tuple[tuple[float, float], tuple[float, float]] | None = None
    order: OrderKept | None = None  # of an exact ratio: how far the model can be trusted with such a gain
    verdict: Verdict
    why: str = ""
    causes: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The case where it is the same in both, else the one before and the one after."""
        ids = [side.id for side in (self.before, self.after) if side is not None]
        return " → ".join({joint(id): id for id in ids}.values())

    @property
    def absent(self) -> bool:
        """Whether one of the runs does not have the case at all."""
        return self.before is None or self.after is None

    @property
    def equal(self) -> bool:
        """Whether the two values are the same to the last digit."""
        return self.exact and not self.effect


class Refused(Record, kw_only=True):
    """A case whose numbers are not of one kind, and why."""

    id: str
    why: str


class Named(Record, kw_only=True):
    """A run as a comparison names it."""

    id: str
    created: str
    grade: Grade
    backend: str
    tool_version: str
    cases: int
    cut_short: str = ""
    edited: bool = False


class Comparison(Record, kw_only=True):
    """`changes`: what is broken, lost, mended or of other evidence, then by effect, the largest first; what
    shows no difference, cannot be told or is in one run alone comes last.

    `differs`: what is not the same of machine, versions and settings, a line each. `threshold` is the effect
    below which nothing is called faster or slower.
    """

    before: Named
    after: Named
    threshold: float | None
    confidence: float
    differs: tuple[str, ...]
    changes: tuple[Change, ...]
    refused: tuple[Refused, ...] = ()
    skipped: int = 0  # in both
    notes: tuple[str, ...] = ()

    def of(self, *verdicts: Verdict) -> tuple[Change, ...]:
        """The changes with one of these verdicts."""
        return tuple(change for change in self.changes if change.verdict in verdicts)

    def counts(self) -> str:
        """`2 slower, 1 faster, 40 no difference shown, 3 not compared`."""
        parts = [f"{len(some):,} {verdict}" for verdict in Verdict if (some := self.of(verdict))]
        if self.refused:
            parts.append(f"{len(self.refused):,} not compared")
        return ", ".join(parts) or "nothing that ran in either"

    def _repr_html_(self) -> str:
        """What a notebook shows of it: the cases that changed, with causes."""
        return str(resolve("trnbench.compare.notebook:html")(self))


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
    """`+1.2 to +3.4 %`, `exact` for one model version, what bands do where they decide; "" for none."""
    if each.bands is not None:
        return "bands apart" if each.verdict.changed else "bands overlap"
    if each.interval is None:
        return "exact" if each.exact else ""
    low, high = (signed_percent(end).removesuffix(" %") for end in (each.interval.low, each.interval.high))
    return f"{low} to {high} %"


def change_text(each: Change) -> str:
    """`+8.5 % (exact), slower`, `+1.0 % (−0.9 to +3.0 %), no difference shown`; the verdict alone of a case
    without two values."""
    if each.effect is None:
        return str(each.verdict)
    if each.equal:
        return "the same"
    interval = interval_text(each)
    return f"{signed_percent(each.effect)}{f' ({interval})' if interval else ''}, {each.verdict}"
