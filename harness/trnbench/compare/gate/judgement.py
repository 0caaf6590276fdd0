"""A run judged by rules against its baseline."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from trnbench.compare.change import Change, interval_text, signed_percent
from trnbench.compare.comparison import CONFIDENCE, THRESHOLD, compared, distance
from trnbench.compare.gate.findings import Finding, Gated, Outcome
from trnbench.compare.gate.rule import USUAL, Direction, Rule
from trnbench.facts.units import percent
from trnbench.results.measurement import CaseKey, Measurement, Metric, Status
from trnbench.results.run import Run

_BAD = (Status.FAILED, Status.SUSPECT)
_UNKNOWN = "unknown: nothing that was recorded differs"
_ORDER = (Outcome.BROKEN, Outcome.INCONCLUSIVE, Outcome.PASSED)


def judged(
    run: Run,
    against: Run,
    rules: Sequence[Rule] = (),
    *,
    strict: bool = False,
    across: bool = False,
    keyword: str = "",
    now: datetime | None = None,
) -> Gated:
    """What of `run` is not good enough beside `against`.

    Of each case the first of `rules` that fits counts, and the usual one where none does. Raises what
    `compared` raises.
    """
    comparison = compared(against, run, threshold=None, across=across, keyword=keyword)
    gate = _Gate(run, against, (*rules, USUAL), comparison.differs)
    findings = [
        *gate.ages(now or datetime.now(UTC)),
        *(finding for change in comparison.changes for finding in gate.case(change)),
        *(gate.broken(id, "missing", "it ran in the baseline and is not here") for id in comparison.missing),
        *(
            gate.broken(each.id, "refused", f"it cannot be compared: {each.why}")
            for each in comparison.refused
        ),
        *gate.new_failures(comparison.new),
    ]
    findings.sort(key=lambda each: _ORDER.index(each.outcome))
    return Gated(comparison=comparison, findings=tuple(findings), strict=strict)


class _Gate:
    def __init__(self, run: Run, against: Run, rules: Sequence[Rule], differs: Sequence[str]) -> None:
        self._against, self._rules, self._differs = against, rules, tuple(differs)
        self._after = {measurement.id: measurement for measurement in run.measurements}
        self._before = {measurement.id: measurement for measurement in against.measurements}

    def rule_of(self, case: CaseKey) -> Rule:
        """The first that fits."""
        return next(rule for rule in self._rules if rule.fits(case))

    def ages(self, now: datetime) -> Iterator[Finding]:
        """Rules whose baseline is too old."""
        created = datetime.fromisoformat(self._against.created)
        created = created if created.tzinfo else created.replace(tzinfo=UTC)
        days = (now - created).total_seconds() / 86_400
        for rule in self._rules:
            if rule.oldest_days is not None and days > rule.oldest_days:
                yield Finding(
                    outcome=Outcome.BROKEN,
                    rule=rule.name,
                    kind="age",
                    what=f"run {self._against.id} is {days:.0f} days old, rule {rule.name} allows "
                    f"{rule.oldest_days:g}",
                    causes=("nobody accepted a newer one: trnbench gate accept",),
                )

    def broken(self, id: str, kind: str, what: str) -> Finding:
        """A case that its rule needs no number for."""
        case = (self._after.get(id) or self._before[id]).case
        return _finding(case, self.rule_of(case), id, Outcome.BROKEN, kind=kind, what=what)

    def new_failures(self, ids: Sequence[str]) -> Iterator[Finding]:
        """Cases that only this run has pass, unless they fail."""
        for id in ids:
            case = self._after[id]
            rule = self.rule_of(case.case)
            if case.status in _BAD:
                yield self.broken(id, "failure", f"{case.status}: {_reason(case)}; it is not in the baseline")
            else:
                yield from self._peak(case, rule) or [_finding(case.case, rule, id, Outcome.PASSED)]

    def case(self, change: Change) -> Iterator[Finding]:
        """What the rule of a case says of it: a finding for each thing that does not hold, else one."""
        before, after = self._before[change.before.id], self._after[change.after.id]
        rule = self.rule_of(after.case)
        if after.status is Status.SKIPPED:
            yield self.broken(after.id, "missing", f"it ran in the baseline and is skipped: {_reason(after)}")
            return
        if after.status in _BAD:
            if before.status in _BAD:
                yield _finding(after.case, rule, after.id, Outcome.PASSED, change=change)
            else:
                yield self.broken(after.id, "failure", f"{after.status}: {_reason(after)}")
            return
        findings = [*self._value(change, rule, before, after), *self._peak(after, rule)]
        yield from findings or [_finding(after.case, rule, after.id, Outcome.PASSED, change=change)]

    def _value(
        self, change: Change, rule: Rule, before: Measurement, after: Measurement
    ) -> Iterator[Finding]:
        if rule.direction is Direction.NONE or before.status in _BAD or before.status is Status.SKIPPED:
            return
        if rule.metric != "time_s":
            change = of_metric(rule.metric, change, before, after)
        if change.effect is None or not (change.exact or change.interval):
            why = change.why or "there is nothing to tell how far another run would lie"
            yield _finding(
                after.case, rule, after.id, Outcome.INCONCLUSIVE, kind="metric", what=why, change=change
            )
            return
        tolerance = rule.tolerance if rule.tolerance is not None else 0.0 if change.exact else THRESHOLD
        limit = f"rule {rule.name} allows {_size(tolerance)}"
        how = interval_text(change)
        sentence = (
            f"{change.metric} {signed_percent(change.effect)} ({how}), {limit}"
            if change.metric != "time_s"
            else (f"time {signed_percent(change.effect)} ({how}), {limit}")
        )
        kind = "slower" if change.effect > 0 else "faster"
        wrong = rule.direction is Direction.EITHER or (rule.direction is Direction.WORSE) == (
            change.effect > 0
        )
        shown = change.exact or (change.p is not None and change.p < 1.0 - CONFIDENCE)
        if (
            wrong
            and shown
            and distance(change.effect) > tolerance * (1.0 + 1e-9) + (1e-9 if change.exact else 0.0)
        ):
            yield _finding(
                after.case, rule, after.id, Outcome.BROKEN, kind=kind, what=sentence, change=change,
                causes=change.causes or self._differs or (_UNKNOWN,),
            )  # fmt: skip
        elif change.interval is not None and _reaches(change, rule.direction, tolerance):
            yield _finding(
                after.case, rule, after.id, Outcome.INCONCLUSIVE, kind=kind, change=change,
                what=f"{sentence}, and the interval reaches beyond that{_more(change, tolerance)}",
            )  # fmt: skip

    def _peak(self, one: Measurement, rule: Rule) -> list[Finding]:
        if rule.least_of_peak is None:
            return []
        share = share_of_peak(one)
        if share is None:
            what = "no peak is known that it could be held against"
            return [_finding(one.case, rule, one.id, Outcome.INCONCLUSIVE, kind="peak", what=what)]
        if share.value >= rule.least_of_peak:
            return []
        sentence = f"{percent(share.value)} of its peak ({share.interval}), rule {rule.name} asks for "
        sentence += percent(rule.least_of_peak)
        outcome = Outcome.BROKEN if share.high < rule.least_of_peak else Outcome.INCONCLUSIVE
        limit = f"{one.bound} limits it" if one.bound else ""
        causes = (limit,) if limit and outcome is Outcome.BROKEN else ()
        return [_finding(one.case, rule, one.id, outcome, kind="peak", what=sentence, causes=causes)]


def _finding(case: CaseKey, rule: Rule, id: str, outcome: Outcome, **fields: object) -> Finding:
    finding = Finding(outcome=outcome, rule=rule.name, id=id, kernel=case.kernel, system=case.instance)
    return msgspec.structs.replace(finding, **fields)


def _reaches(change: Change, direction: Direction, tolerance: float) -> bool:
    """Whether a change that the rule forbids is within the interval."""
    assert change.interval is not None
    slower = change.interval.high > 0 and distance(change.interval.high) > tolerance
    faster = change.interval.low < 0 and distance(change.interval.low) > tolerance
    if direction is Direction.EITHER:
        return slower or faster
    return slower if direction is Direction.WORSE else faster


def _more(change: Change, tolerance: float) -> str:
    """How many processes would do, if they lie as far apart as these: the interval shrinks by their root."""
    assert change.interval is not None
    assert change.effect is not None
    reach = change.interval.high - change.effect
    room = tolerance - abs(change.effect)
    processes = max(change.before.processes, change.after.processes)
    if room <= 0.0 or not processes:
        return ""
    needed = int(processes * (reach / room) ** 2) + 1
    return f"; about {needed:,} processes on each side would tell" if needed < 1000 else ""


def _reason(one: Measurement) -> str:
    return one.reason_text or str(one.reason) or "no reason was recorded"


def _size(share: float) -> str:
    return signed_percent(share).removeprefix("+")


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


_ROUNDING = 1e-6


def of_metric(name: str, change: Change, before: Measurement, after: Measurement) -> Change:
    """`change` told of the metric `name`: its effect positive for the worse, as that of a time is.

    What follows from the time, as rates do, has the interval of the time. Anything else is exact of a model,
    and has none where it was measured.
    """
    old, new = before.metrics.get(name), after.metrics.get(name)
    if old is None or new is None:
        side = "the baseline" if old is None else "this run"
        names = ", ".join(sorted((before if old is None else after).metrics)) or "none"
        return _without(change, name, f"{side} has no metric {name!r} of it (known: {names})")
    if old.value <= 0.0 or new.value <= 0.0:
        return _without(change, name, f"{name} is not above zero")
    renamed = msgspec.structs.replace(
        change,
        metric=name,
        unit=new.unit,
        better=new.better,
        before=msgspec.structs.replace(change.before, value=old.value),
        after=msgspec.structs.replace(change.after, value=new.value),
    )
    if _follows(old, new, before, after):
        return renamed
    effect = (old.value / new.value if new.better == "higher" else new.value / old.value) - 1.0
    if change.exact:
        return msgspec.structs.replace(renamed, effect=effect)
    return _without(renamed, name, f"{name} was measured without samples of its own")


def _without(change: Change, name: str, why: str) -> Change:
    return msgspec.structs.replace(
        change, metric=name, effect=None, interval=None, p=None, exact=False, verdict=None, why=why
    )


def _follows(old: Metric, new: Metric, before: Measurement, after: Measurement) -> bool:
    """Whether the metric went exactly as the time did, or the other way where more is better."""
    if not before.time_s or not after.time_s:
        return False
    ratio = old.value / new.value if new.better == "higher" else new.value / old.value
    return math.isclose(ratio, after.time_s / before.time_s, rel_tol=_ROUNDING)
