"""Two runs compared case by case: what `trnbench compare` does."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from trnbench.bounded import kinds
from trnbench.compare.change import Change, Comparison, Named, Verdict, side_of
from trnbench.compare.effect import Effect, effects, lacking
from trnbench.compare.inputs import Inputs, conditions_changed, surroundings
from trnbench.compare.pairs import Pair, chosen, keyword_test, paired, unlike
from trnbench.errors import NothingSelected, UsageError
from trnbench.results.measurement import Grade, Measurement, Status
from trnbench.results.run import Run

THRESHOLD = 0.03
"""Of measured times where none is given: what the processes of one run have in common (the hour, the clock)
differs from run to run by up to a few per cent, and no interval between them sees that."""

CONFIDENCE = 0.95
EXACT = 1e-9
"""Models repeat bit for bit on one machine; libraries of another may round the last digit otherwise."""


class Compared(NamedTuple):
    """A metric as a comparison needs it."""

    name: str
    unit: str
    better: str


TIME = Compared("time_s", "s", "lower")

_GOOD = (Status.OK, Status.DOCUMENT_LOW)
_MODELLED = (Grade.EMULATED, Grade.DERIVED)


def compared(
    before: Run,
    after: Run,
    *,
    threshold: float | None = None,
    across: bool = False,
    keyword: str = "",
    a: str = "",
    b: str = "",
) -> Comparison:
    """What changed from `before` to `after`, case by case.

    `threshold`: the least effect, 0.03 for 3 %, that is called faster or slower; by default 3 % for measured
    times, and any difference for emulated ones. `keyword` is a `-k` expression, `a` and `b` terms that choose
    the cases of each side ('dtype=bf16'): then cases that differ in nothing but what the terms name are held
    together, also of one run. `across` holds cases together that are not of one kind, and says so.

    Raises `UsageError` for a selection that cannot be read, `NothingSelected` where no case is in both.
    """
    if threshold is not None:
        kinds.PERCENT.checked(100.0 * threshold, "threshold")
    sides = (chosen(a, "--a"), chosen(b, "--b"))
    pairing = paired(before, after, chosen=sides, wanted=keyword_test(keyword), across=across)
    if not pairing.pairs and not pairing.skipped:
        raise _nothing(
            before, after, bool(pairing.refused), pairing.refused[0].why if pairing.refused else ""
        )
    inputs = Inputs(before, after)
    measured = [pair for pair in pairing.pairs if _both(pair, (Grade.MEASURED,)) and not _unjudged(*pair)]
    by_pair = dict(
        zip(((old.id, new.id) for old, new in measured), effects(measured, CONFIDENCE), strict=True)
    )
    changes = [
        _change(before, after, pair, by_pair.get((pair[0].id, pair[1].id)), threshold, inputs)
        for pair in pairing.pairs
    ]
    return Comparison(
        before=_named(before),
        after=_named(after),
        threshold=threshold,
        confidence=CONFIDENCE,
        differs=surroundings(before, after) if before.id != after.id else (),
        changes=tuple(sorted(changes, key=_order)),
        refused=pairing.refused,
        missing=tuple(each.id for each in pairing.missing),
        new=tuple(each.id for each in pairing.new),
        skipped=pairing.skipped,
    )


def _change(
    before: Run, after: Run, pair: Pair, effect: Effect | None, threshold: float | None, inputs: Inputs
) -> Change:
    old, new = pair
    metric, value = _shown(old, new)
    change = Change(
        case=new.case,
        metric=metric.name,
        unit=metric.unit,
        better=metric.better,
        before=side_of(old, value(old)),
        after=side_of(new, value(new)),
    )
    apart = "; ".join(unlike(before, after, old, new))
    if why := _unjudged(old, new) or (apart if old.evidence.grade is not new.evidence.grade else ""):
        return msgspec.structs.replace(change, effect=_ratio(change), why=why)
    if effect is not None:
        least = THRESHOLD if threshold is None else threshold
        shown = effect.p < 1.0 - CONFIDENCE
        verdict = _verdict(effect.value, least, shown=shown)
        causes = (*inputs.sources(old, new), *conditions_changed(old, new))
        return msgspec.structs.replace(
            change,
            effect=effect.value,
            interval=effect.interval,
            p=effect.p,
            verdict=verdict,
            why=apart,
            causes=causes if shown and old.id == new.id else (),
        )
    ratio = _ratio(change)
    if ratio is None:
        return msgspec.structs.replace(change, why="a value to compare is missing")
    if not _both(pair, _MODELLED):
        return msgspec.structs.replace(
            change, effect=ratio, why=f"{new.evidence.grade} numbers come without samples"
        )
    differs = abs(ratio) > EXACT
    return msgspec.structs.replace(
        change,
        effect=ratio,
        exact=True,
        verdict=_verdict(ratio, threshold or 0.0, shown=differs),
        why=apart,
        causes=inputs.causes(old, new) if differs and old.id == new.id else (),
    )


def distance(effect: float) -> float:
    """How far from nothing: a gain as far as the loss that takes it back, −4.76 % as 5 %."""
    return math.expm1(abs(math.log1p(max(effect, -1.0 + 1e-15))))


def _verdict(effect: float, least: float, *, shown: bool) -> Verdict:
    # The last digit of 5 % is not what decides.
    if not shown or distance(effect) < least * (1.0 - EXACT):
        return Verdict.SAME
    return Verdict.SLOWER if effect > 0.0 else Verdict.FASTER


def _unjudged(one: Measurement, two: Measurement) -> str:
    """Why a pair gets no verdict, whatever its numbers are; "" where it can have one."""
    for side, case in (("first", one), ("second", two)):
        if case.status is Status.INCONCLUSIVE:
            why = case.stability.why if case.stability else case.reason_text
            return f"not stable in the {side} run{f': {why}' if why else ''}"
        if case.status not in _GOOD:
            reason = case.reason_text or str(case.reason)
            return f"{case.status} in the {side} run{f': {reason}' if reason else ''}"
    return lacking(one, two) if _both((one, two), (Grade.MEASURED,)) else ""


def _both(pair: Pair, grades: tuple[Grade, ...]) -> bool:
    old, new = (case.evidence.grade for case in pair)
    return old is new and old in grades


def _shown(one: Measurement, two: Measurement) -> tuple[Compared, Callable[[Measurement], float | None]]:
    """What is compared, and how a measurement tells it: times where both have one, or no metric in common."""
    name = two.primary or one.primary
    if (one.time_s is not None and two.time_s is not None) or not (
        name in one.metrics and name in two.metrics
    ):
        return TIME, lambda each: each.time_s
    metric = two.metrics[name]
    return Compared(name, metric.unit, metric.better), lambda each: each.metrics[name].value


def _ratio(change: Change) -> float | None:
    """Of times; of another metric as if it were one."""
    old, new = change.before.value, change.after.value
    if old is None or new is None or old <= 0.0 or new <= 0.0:
        return None
    return old / new - 1.0 if change.better == "higher" else new / old - 1.0


def _order(change: Change) -> tuple[bool, bool, float, str]:
    size = distance(change.effect) if change.effect is not None else 0.0
    return change.verdict is None, change.verdict is Verdict.SAME, -size, change.id


def _named(run: Run) -> Named:
    return Named(
        id=run.id,
        created=run.created,
        grade=run.grade,
        backend=run.backend,
        tool_version=run.tool_version,
        cases=len(run.measurements),
    )


def _nothing(before: Run, after: Run, refused: bool, why: str) -> UsageError | NothingSelected:
    if refused:
        return UsageError(
            f"runs {before.id} and {after.id} cannot be compared: {why}",
            cause="a difference between numbers of two kinds is no change",
            try_="--across  holds them together all the same, and says so",
        )
    cases = f"{len(before.measurements):,} and {len(after.measurements):,} cases"
    return NothingSelected(
        f"runs {before.id} and {after.id} have no case in common",
        cause=f"of their {cases} none has the same kernel, system, scope and point, or none was selected",
        try_="trnbench runs show RUN  lists the cases of a run",
    )
