"""A run judged by rules against its baseline."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase

from msgspec.structs import replace

from trnbench.case_key import CaseKey
from trnbench.compare.change import Change, Comparison, interval_text, side_of
from trnbench.compare.comparison import CONFIDENCE, THRESHOLD, compared, distance
from trnbench.compare.gate.baseline import check_unedited
from trnbench.compare.gate.rule import Direction, Finding, Gated, Outcome, Rule, finding_of, in_order, rule_of
from trnbench.facts.units import percent, signed_percent
from trnbench.results.measurement import BAD, Measurement, Status, Verdict
from trnbench.results.run import Run

_UNKNOWN = "unknown: nothing that was recorded differs"


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
    `compared` raises, and `UsageError` for a run that was edited.
    """
    for side in (against, run):
        check_unedited(side)
    comparison = compared(against, run, threshold=None, across=across, keyword=keyword)
    gate = _Gate(run, against, rules, comparison)
    findings = [
        *gate.idle(),
        *gate.ages(now or datetime.now(UTC)),
        *(finding for change in comparison.changes for finding in gate.case(change)),
        *(
            gate.failed(each.id, "refused", f"it cannot be compared: {each.why}")
            for each in comparison.refused
        ),
    ]
    return Gated(comparison=comparison, findings=in_order(findings), strict=strict)


class _Gate:
    def __init__(self, run: Run, against: Run, rules: Sequence[Rule], comparison: Comparison) -> None:
        self._against, self._rules = against, rules
        self._differs = comparison.differs
        self._after = {measurement.id: measurement for measurement in run.measurements}
        self._before = {measurement.id: measurement for measurement in against.measurements}

    def idle(self) -> Iterator[Finding]:
        """Rules that fit no case of either run, whatever `-k` leaves of them, and those whose metric none has
        that they fit: a name in them is misspelt."""
        measurements = [*self._after.values(), *self._before.values()]
        cases = [each.case for each in measurements]
        for rule in self._rules:
            told = [each for each in measurements if rule.fits(each.case)]
            names = {name for each in told for name in each.metrics}
            if not told:
                why = f"speaks of no case: {_misspelt(rule, cases)}"
            elif rule.metric not in ("time_s", *names) and any(map(_has_values, told)):
                why = f"speaks of no value: {_unlike('metric', rule.metric, names)}"
            else:
                continue
            yield Finding(outcome=Outcome.FAILED, rule=rule.name, kind="rule", what=f"rule {rule.name} {why}")

    def ages(self, now: datetime) -> Iterator[Finding]:
        """Rules whose baseline is too old."""
        created = datetime.fromisoformat(self._against.created)
        created = created if created.tzinfo else created.replace(tzinfo=UTC)
        days = (now - created).total_seconds() / 86_400
        for rule in self._rules:
            if rule.oldest_days is not None and days > rule.oldest_days:
                yield Finding(
                    outcome=Outcome.FAILED,
                    rule=rule.name,
                    kind="age",
                    what=f"run {self._against.id} is {days:.0f} days old, rule {rule.name} allows "
                    f"{rule.oldest_days:g}",
                    causes=("nobody accepted a newer one: trnbench gate accept",),
                )

    def failed(self, id: str, kind: str, what: str, change: Change | None = None) -> Finding:
        """A case that its rule needs no number for."""
        case = (self._after.get(id) or self._before[id]).case
        rule = rule_of(case, self._rules)
        return finding_of(case, rule, Outcome.FAILED, kind=kind, what=what, change=change)

    def case(self, change: Change) -> Iterator[Finding]:
        """What the rule of a case says of it: a finding for each thing that does not hold, else one."""
        before = self._before[change.before.id] if change.before is not None else None
        after = self._after[change.after.id] if change.after is not None else None
        if after is None or after.status is Status.SKIPPED:
            if before is not None:
                how = f"skipped: {_reason(after)}" if after is not None else "not here"
                yield self.failed(before.id, "lost", f"it ran in the baseline and is {how}", change)
            return
        rule = rule_of(after.case, self._rules)
        passed = finding_of(after.case, rule, Outcome.PASSED, change=change)
        if after.status in BAD:
            if before is not None and before.status in BAD:
                yield passed
            else:
                note = "; it is not in the baseline" if before is None else ""
                yield self.failed(after.id, "failure", f"{after.status}: {_reason(after)}{note}", change)
            return
        yield from [*self._value(change, rule, before, after), *self._peak(after, rule, change)] or [passed]

    def _value(
        self, change: Change, rule: Rule, before: Measurement | None, after: Measurement
    ) -> Iterator[Finding]:
        if rule.direction is Direction.NONE:
            return
        if before is None or not _has_values(before):  # nothing to be worse than
            if after.status is Status.INCONCLUSIVE:
                what = f"{after.status}: {_reason(after)}"
                yield finding_of(
                    after.case, rule, Outcome.INCONCLUSIVE, kind="metric", what=what, change=change
                )
            return
        if rule.metric != "time_s":
            change = of_metric(rule.metric, change, before, after)
        if change.verdict is Verdict.EVIDENCE and change.effect is None and change.why:
            what = f"it cannot be compared: {change.why}"
            yield self.failed(after.id, "evidence", what, change)
            return
        other = before.evidence.grade is not after.evidence.grade
        if change.effect is None or change.verdict is Verdict.UNKNOWN or other:
            why = change.why or "there is nothing to tell how far another run would lie"
            yield finding_of(after.case, rule, Outcome.INCONCLUSIVE, kind="metric", what=why, change=change)
            return
        modelled = change.interval is None
        tolerance = rule.tolerance if rule.tolerance is not None else 0.0 if modelled else THRESHOLD
        name = "time" if change.metric == "time_s" else change.metric
        how = interval_text(change) or "by another model"
        limit = f"rule {rule.name} allows {signed_percent(tolerance).removeprefix('+')}"
        sentence = f"{name} {signed_percent(change.effect)} ({how}), {limit}"
        kind = "slower" if change.effect > 0 else "faster"
        shown = modelled or (change.p is not None and change.p < 1.0 - CONFIDENCE)
        if (
            rule.direction.wrong(change.effect) > 0.0
            and shown
            and distance(change.effect) > tolerance * (1.0 + 1e-9) + (1e-9 if modelled else 0.0)
        ):
            yield finding_of(
                after.case, rule, Outcome.FAILED, kind=kind, what=sentence, change=change,
                causes=change.causes or self._differs or (_UNKNOWN,),
            )  # fmt: skip
        elif change.interval is not None and _reaches(change, rule.direction, tolerance):
            yield finding_of(
                after.case, rule, Outcome.INCONCLUSIVE, kind=kind, change=change,
                what=f"{sentence}, and the interval reaches beyond that{_more(change, tolerance)}",
            )  # fmt: skip

    def _peak(self, one: Measurement, rule: Rule, change: Change) -> Iterator[Finding]:
        least, judged = rule.least_of_peak, one.judgement
        if least is None or (judged is not None and judged.fraction >= least):
            return
        outcome = Outcome.INCONCLUSIVE
        causes: tuple[str, ...] = ()
        if judged is None:
            what = "no peak is known that it could be held against"
        else:
            low, high = _share_of_peak(one, judged.fraction)
            interval = "exact" if low == high else f"{percent(low).removesuffix(' %')} to {percent(high)}"
            what = f"{percent(judged.fraction)} of its peak ({interval}), rule {rule.name} asks for "
            what += percent(least)
            if high < least:
                outcome = Outcome.FAILED
                causes = (f"{one.bound} limits it",) if one.bound else ()
        yield finding_of(one.case, rule, outcome, kind="peak", what=what, causes=causes, change=change)


def _reaches(change: Change, direction: Direction, tolerance: float) -> bool:
    """Whether a change that the rule forbids is within the interval."""
    assert change.interval is not None
    ends = (change.interval.low, change.interval.high)
    return any(direction.wrong(end) > 0.0 and distance(end) > tolerance for end in ends)


def _more(change: Change, tolerance: float) -> str:
    """How many processes would do, if they lie as far apart as these: the interval shrinks by their root."""
    assert change.interval is not None
    assert change.effect is not None
    reach = change.interval.high - change.effect
    room = tolerance - abs(change.effect)
    processes = max(side.processes for side in (change.before, change.after) if side is not None)
    if room <= 0.0 or not processes:
        return ""
    needed = int(processes * (reach / room) ** 2) + 1
    return f"; about {needed:,} processes on each side would tell" if needed < 1000 else ""


def _misspelt(rule: Rule, cases: Sequence[CaseKey]) -> str:
    """The name that no case has, and what it may be meant for."""
    for key, asked, names in (
        ("kernel", rule.kernel, {case.kernel for case in cases}),
        ("system", rule.system, {case.instance for case in cases}),
    ):
        if not any(fnmatchcase(name, asked) for name in names):
            return _unlike(key, asked, names)
    return f'case = "{rule.case}" fits none of that kernel and system: trnbench runs show latest'


def _unlike(key: str, asked: str, names: Collection[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(asked, names, n=1)
    return f'{key} = "{asked}" is misspelt{f", did you mean {near[0]}?" if near else ""}'


def _has_values(one: Measurement) -> bool:
    """Whether it ran and is to be relied on: what failed or was skipped need not have its metrics."""
    return one.status not in BAD and one.status is not Status.SKIPPED


def _reason(one: Measurement) -> str:
    return one.reason_text or str(one.reason) or "no reason was recorded"


def _share_of_peak(one: Measurement, share: float) -> tuple[float, float]:
    """Least and most of it, 1.0 is the peak. A rate is work over time: the longest time makes the least of
    it. Without an interval of the time both ends are `share`."""
    if one.interval is None or not one.time_s or not one.interval.low > 0.0:
        return share, share
    return share * one.time_s / one.interval.high, share * one.time_s / one.interval.low


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
    renamed = replace(
        change,
        metric=name,
        unit=new.unit,
        better=new.better,
        before=side_of(before, old.value),
        after=side_of(after, new.value),
    )
    ratio = old.value / new.value if new.better == "higher" else new.value / old.value
    times = after.time_s / before.time_s if before.time_s and after.time_s else math.nan
    if math.isclose(ratio, times, rel_tol=_ROUNDING):
        return renamed
    if change.exact:
        return replace(renamed, effect=ratio - 1.0)
    return _without(renamed, name, f"{name} was measured without samples of its own")


def _without(change: Change, name: str, why: str) -> Change:
    return replace(change, metric=name, effect=None, interval=None, p=None, exact=False, why=why)
