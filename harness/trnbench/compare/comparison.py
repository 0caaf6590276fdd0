"""Two runs compared case by case, and what moved their numbers: what `trnbench compare` does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from trnbench.bounded import kinds
from trnbench.compare.change import Change, Comparison, Named, Side, side_of
from trnbench.compare.effect import Effect, effects, lacking
from trnbench.compare.inputs import Inputs, conditions_changed, surroundings
from trnbench.compare.pairs import Pair, chosen, keyword_test, paired, unlike
from trnbench.errors import NothingSelected, UsageError
from trnbench.facts.units import show
from trnbench.results.expectation import expected, expected_seconds
from trnbench.results.fidelity import order_kept
from trnbench.results.measurement import GOOD, Grade, Measurement, Standing, Status, Verdict, verdict_of
from trnbench.results.run import Run

_MODELLED = (Grade.EMULATED, Grade.DERIVED)
_MOVED = (Verdict.FASTER, Verdict.SLOWER, Verdict.EVIDENCE)


def with_causes(before: Run, after: Run, pairs: Sequence[Pair], changes: Sequence[Change]) -> list[Change]:
    """The changes of `pairs`, those that moved with their causes.

    What differs of the inputs of a case that did not move has moved nothing: it is no cause of its family's
    other cases either, unless nothing else is left.
    """
    inputs = Inputs(before, after)
    together = list(zip(pairs, changes, strict=True))
    idle = {
        (old.case.family, cause)
        for (old, new), change in together
        if _modelled(change) and change.verdict is Verdict.SAME and not change.effect
        for cause in inputs.causes(old, new)
    }
    return [
        replace(change, causes=_causes(inputs, (old, new), change, idle))
        if old.case.joint == new.case.joint and (change.verdict in _MOVED or _is_shown(change))
        else change
        for (old, new), change in together
    ]


def _causes(inputs: Inputs, pair: Pair, change: Change, idle: set[tuple[str, str]]) -> tuple[str, ...]:
    old, new = pair
    if not _modelled(change):
        if old.evidence.grade is not new.evidence.grade:
            return (f"evidence is {new.evidence.grade}, was {old.evidence.grade}",)
        return (*inputs.sources(old, new), *conditions_changed([old], [new]))
    causes = inputs.causes(old, new)
    moving = tuple(cause for cause in causes if (old.case.family, cause) not in idle)
    return moving or causes or (inputs.unknown,)


def _modelled(change: Change) -> bool:
    """Whether both numbers are of a model."""
    sides = (change.before, change.after)
    return all(side is not None and side.grade in _MODELLED for side in sides)


def _is_shown(change: Change) -> bool:
    """Whether a difference below the threshold is one all the same."""
    return bool(change.exact and change.effect) or (change.p is not None and change.p < 0.05)


THRESHOLD = 0.03
"""Of measured times where none is given: what the processes of one run have in common (the hour, the clock)
differs from run to run by up to a few per cent, and no interval between them sees that."""

CONFIDENCE = 0.95
EXACT = 1e-9
"""Models repeat bit for bit on one machine; libraries of another may round the last digit otherwise."""


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
    together, also of one run. `across` holds cases together that are not of one kind, and says so; where
    their evidence differs there is a ratio with it, and none without.

    Raises `UsageError` for a selection that cannot be read, `NothingSelected` where no case is in both.
    """
    if threshold is not None:
        kinds.PERCENT.checked(100.0 * threshold, "threshold")
    sides = (chosen(a, "--a"), chosen(b, "--b"))
    pairing = paired(before, after, chosen=sides, wanted=keyword_test(keyword), across=across)
    if not pairing.pairs and not pairing.skipped:
        why = pairing.refused[0].why if pairing.refused else ""
        raise _nothing(before, after, why, narrowed=bool(keyword or a or b))
    measured = {
        at: pair
        for at, pair in enumerate(pairing.pairs)
        if _both(pair, (Grade.MEASURED,)) and not _unjudged(*pair)
    }
    effect_at = dict(zip(measured, effects(list(measured.values()), CONFIDENCE), strict=True))
    changes = [
        _change(before, after, pair, effect_at.get(at), threshold, across=across)
        for at, pair in enumerate(pairing.pairs)
    ]
    changes = with_causes(before, after, pairing.pairs, changes)
    changes += [_told(case, None, Verdict.LOST, "it is not in the second run") for case in pairing.missing]
    changes += [_told(None, case, Verdict.NEW, "it is not in the first run") for case in pairing.new]
    return Comparison(
        before=_named(before),
        after=_named(after),
        threshold=threshold,
        confidence=CONFIDENCE,
        differs=surroundings(before, after) if before.id != after.id else (),
        changes=tuple(sorted(changes, key=_order)),
        refused=pairing.refused,
        skipped=pairing.skipped,
    )


def _change(
    before: Run, after: Run, pair: Pair, effect: Effect | None, threshold: float | None, *, across: bool
) -> Change:
    """One pair without its causes."""
    old, new = pair
    change = _told(old, new, Verdict.SAME)
    apart = "; ".join(unlike(before, after, old, new))
    ratio = _ratio(change)
    why = _unjudged(old, new) or (apart if old.evidence.grade is not new.evidence.grade else "")
    if why:
        fields: dict[str, Any] = {
            "effect": ratio if across or old.evidence.grade is new.evidence.grade else None,
            "why": why,
            "verdict": Verdict.UNKNOWN,
        }
    elif effect is not None:
        shown = effect.p < 1.0 - CONFIDENCE
        fields = {
            "effect": effect.value,
            "interval": effect.interval,
            "p": effect.p,
            "verdict": effect_verdict(
                effect.value, THRESHOLD if threshold is None else threshold, shown=shown
            ),
            "why": apart,
        }
    elif ratio is None:
        fields = {"why": "a value to compare is missing", "verdict": Verdict.UNKNOWN}
    elif not _both(pair, _MODELLED):
        why = f"{new.evidence.grade} numbers come without samples"
        fields = {"effect": ratio, "why": why, "verdict": Verdict.UNKNOWN}
    elif not versions(old, new) or apart:
        fields = {"effect": ratio, **_by_bands(old, new, change, ratio, threshold or 0.0, apart)}
    elif (old.evidence.by, old.evidence.version) != (new.evidence.by, new.evidence.version):
        differs = abs(ratio) > EXACT
        fields = {"effect": ratio, "verdict": Verdict.EVIDENCE if differs else Verdict.SAME}
    else:
        differs = abs(ratio) > EXACT
        steps = after.fidelity.steps if after.fidelity is not None else ()
        fields = {
            "effect": ratio,
            "exact": True,
            "verdict": effect_verdict(ratio, threshold or 0.0, shown=differs),
            "order": order_kept(steps, _logarithm(ratio)) if differs else None,
        }
    fields["verdict"] = verdict_of(_standing(old), _standing(new), fields.get("verdict", Verdict.SAME))
    return replace(change, **fields)


def versions(old: Measurement, new: Measurement) -> bool:
    """Whether two emulated cases are versions of one kernel on one system: the same case, or one of the same
    family, work, scope and point under another name. Only there a ratio needs no band."""
    if old.case.joint == new.case.joint:
        return True
    one, two = (
        (each.case.family, each.case.instance, each.case.reach, each.case.point, each.work)
        for each in (old, new)
    )
    return one == two and bool(old.work)


def _by_bands(
    old: Measurement, new: Measurement, change: Change, ratio: float, least: float, apart: str
) -> dict[str, Any]:
    """The verdict of two models' numbers of which more than the software differs."""
    bands = [_band(each, change.metric) for each in (old, new)]
    for side, band, case in zip(("first", "second"), bands, (old, new), strict=True):
        if band is None:
            nearest = case.evidence.nearest
            near = f": nearest evidence {nearest.kind}" if nearest is not None else ""
            why = f"the {side} has no band{near}, and {_OTHER}"
            return {"verdict": Verdict.UNKNOWN, "why": "; ".join(filter(None, (why, apart)))}
    first, second = both = tuple(band for band in bands if band is not None)
    if max(first[0], second[0]) <= min(first[1], second[1]):
        ends = " and ".join(f"{show(low, change.unit)} to {show(high, change.unit)}" for low, high in both)
        why = "; ".join(filter(None, (f"their bands overlap: {ends}", apart)))
        return {"verdict": Verdict.UNKNOWN, "bands": both, "why": why}
    return {"verdict": effect_verdict(ratio, least), "bands": both, "why": apart}


_OTHER = "more than the software differs"


def _band(measurement: Measurement, metric: str) -> tuple[float, float] | None:
    """Ends to expect of what is compared, None without a band."""
    if metric == "time_s":
        return expected_seconds(measurement)
    return expected(measurement) if measurement.primary == metric else None


def _standing(measurement: Measurement) -> Standing:
    return Standing(measurement.status, measurement.evidence.grade)


def _told(old: Measurement | None, new: Measurement | None, verdict: Verdict, why: str = "") -> Change:
    """A case with its number in each run that has it: its time, or its metric where that is compared."""
    case = new or old
    assert case is not None
    name = _metric_of(old or case, case)
    change = Change(case=case.case, before=_side(old, name), after=_side(new, name), verdict=verdict, why=why)
    if not name:
        return change
    metric = case.metrics[name]
    return replace(change, metric=name, unit=metric.unit, better=metric.better)


def _side(measurement: Measurement | None, metric: str) -> Side | None:
    if measurement is None:
        return None
    return side_of(measurement, measurement.metrics[metric].value if metric else measurement.time_s)


def _metric_of(one: Measurement, two: Measurement) -> str:
    """The metric that is compared; "" for times, where both have one, or no metric in common."""
    name = two.primary or one.primary
    timed = one.time_s is not None and two.time_s is not None
    return name if not timed and name in one.metrics and name in two.metrics else ""


def distance(effect: float) -> float:
    """How far from nothing: a gain as far as the loss that takes it back, −4.76 % as 5 %."""
    return math.expm1(abs(_logarithm(effect)))


def _logarithm(effect: float) -> float:
    """Of the ratio of both values; the effect is −1 to the last bit where one is nothing beside the other."""
    return math.log1p(max(effect, -1.0 + 1e-15))


def effect_verdict(effect: float, least: float, *, shown: bool = True) -> Verdict:
    """What an effect is called: nothing where it is less than `least`, or not shown to be there."""
    # The last digit of 5 % is not what decides.
    if not shown or not effect or distance(effect) < least * (1.0 - EXACT):
        return Verdict.SAME
    return Verdict.SLOWER if effect > 0.0 else Verdict.FASTER


def _unjudged(one: Measurement, two: Measurement) -> str:
    """Why a pair gets no verdict, whatever its numbers are; "" where it can have one."""
    for side, case in (("first", one), ("second", two)):
        if case.status is Status.INCONCLUSIVE:
            why = case.stability.why if case.stability else case.reason_text
            return f"not stable in the {side} run{f': {why}' if why else ''}"
        if case.status not in GOOD:
            reason = case.reason_text or str(case.reason)
            return f"{case.status} in the {side} run{f': {reason}' if reason else ''}"
    return lacking(one, two) if _both((one, two), (Grade.MEASURED,)) else ""


def _both(pair: Pair, grades: tuple[Grade, ...]) -> bool:
    old, new = (case.evidence.grade for case in pair)
    return old is new and old in grades


def _ratio(change: Change) -> float | None:
    """Of times; of another metric as if it were one."""
    old, new = (side.value if side is not None else None for side in (change.before, change.after))
    if old is None or new is None or old <= 0.0 or new <= 0.0:
        return None
    return old / new - 1.0 if change.better == "higher" else new / old - 1.0


_ORDER = (
    *((Verdict.BROKEN,), (Verdict.LOST,), (Verdict.EVIDENCE,), (Verdict.MENDED,)),
    *((Verdict.SLOWER, Verdict.FASTER, Verdict.NEW), (Verdict.SAME,), (Verdict.UNKNOWN,)),
)
_PLACES = {verdict: place for place, alike in enumerate(_ORDER) for verdict in alike}


def _order(change: Change) -> tuple[bool, int, float, str]:
    """What has no number to be told by first, then by effect; what only one run has last."""
    if change.absent:
        return True, 0, 0.0, ""  # in the order of their run
    size = distance(change.effect) if change.effect is not None else 0.0
    return False, _PLACES[change.verdict], -size, change.id


def _named(run: Run) -> Named:
    return Named(
        id=run.id,
        created=run.created,
        grade=run.grade,
        backend=run.backend,
        tool_version=run.tool_version,
        cases=len(run.measurements),
        cut_short=run.cut_short,
        edited=run.edited,
    )


def _nothing(before: Run, after: Run, why: str, *, narrowed: bool) -> UsageError | NothingSelected:
    """`why` the first pair was refused, "" where there was none."""
    if why:
        return UsageError(
            f"runs {before.id} and {after.id} cannot be compared: {why}",
            cause="a difference between numbers of two kinds is no change",
            try_="--across  holds them together all the same, and says so",
        )
    cases = f"{len(before.measurements):,} and {len(after.measurements):,} cases"
    return NothingSelected(
        f"runs {before.id} and {after.id} have no case in common{' of those selected' if narrowed else ''}",
        cause=f"of their {cases} none has the same kernel, system, scope and point"
        + (", or -k, --a and --b leave none" if narrowed else ""),
        try_="trnbench runs show RUN  lists the cases of a run",
    )
