"""Batches of every case, and what they say: the comparison and the gate of `--paired`."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from random import Random
from typing import NamedTuple

from trnbench.case_key import CaseKey
from trnbench.compare.change import Change, Comparison, Named, interval_text
from trnbench.compare.comparison import distance, effect_verdict
from trnbench.compare.effect import of_logarithms
from trnbench.compare.gate.rule import Finding, Gated, Outcome, Rule, finding_of, in_order, rule_of
from trnbench.compare.pairing.duel import Batch, Course, Duel, Unfit, Wish, batch, duels, side, trial
from trnbench.compare.pairing.operand import Operand
from trnbench.compare.pairing.stage import Stage
from trnbench.facts.units import signed_percent
from trnbench.results.measurement import Grade, Status, Verdict
from trnbench.results.statistics import median, median_interval
from trnbench.version import VERSION

CONFIDENCE = 0.99
"""Of the interval that decides: it misses nothing at all in one comparison of a hundred."""

THRESHOLD = 0.01
"""Of an effect where none is given: where code and data lie makes up to so much, and no pair sees it."""

SECONDS = 10.0
"""Of pairs of one case, where nothing is said."""


class Played(NamedTuple):
    """A case on both sides: by what clock, its batches, or why there are none."""

    cases: tuple[CaseKey, CaseKey]
    course: Course | None
    batches: tuple[Batch, ...]
    why: str = ""


def played(stage: Stage, wish: Wish, on_progress: Callable[[str], None]) -> list[Played]:
    """All batches: the first of every case, then the second of every case, and so on.

    Raises `NothingSelected` where the sides have no case in common.
    """
    pairs = duels(*stage.cases)
    seconds = wish.sample_s or SECONDS
    many = f"{len(pairs)} case{'s' if len(pairs) > 1 else ''}"
    on_progress(f"{many}, {seconds:g} s of pairs each, {stage.where}")
    return stage.carried(lambda: _played(stage, pairs, wish.seed, seconds / stage.batches))


def _played(
    stage: Stage, pairs: Mapping[Duel, tuple[CaseKey, CaseKey]], seed: int, seconds: float
) -> list[Played]:
    courses: dict[Duel, Course] = {}
    batches: dict[Duel, list[Batch]] = defaultdict(list)
    reasons: dict[Duel, str] = {}
    for number in range(stage.batches):
        with stage.opened(number) as play:
            for duel in [pair for pair in pairs if pair not in reasons]:
                random = Random(f"{seed} {pairs[duel][0].id} {number}")
                try:
                    course = courses[duel] = courses.get(duel) or play(duel, trial)
                    batches[duel].append(
                        play(duel, partial(batch, course=course, random=random, seconds=seconds))
                    )
                except Unfit as error:
                    reasons[duel] = error.what
    return [
        Played(cases, courses.get(duel), tuple(batches[duel]), reasons.get(duel, ""))
        for duel, cases in pairs.items()
    ]


def change(seen: Played, backend: str, threshold: float) -> Change:
    """What the batches of one case say: the median of their logarithms, and the exact interval of that."""
    cases = seen.cases
    if seen.why or seen.course is None:
        return Change(
            case=cases[1],
            metric=seen.course.clock if seen.course else "time_s",
            before=side(cases[0], None, backend, Status.FAILED),
            after=side(cases[1], None, backend, Status.FAILED),
            verdict=Verdict.UNKNOWN,
            why=seen.why,
        )
    logs = [each.log_ratio for each in seen.batches]
    effect = math.expm1(median(logs))
    ends = median_interval(logs, CONFIDENCE)
    interval = of_logarithms(ends.low, ends.high, CONFIDENCE)
    shown = interval.low > 0.0 or interval.high < 0.0
    return Change(
        case=cases[1],
        metric=str(seen.course.clock),
        before=side(cases[0], median([each.before_s for each in seen.batches]), backend),
        after=side(cases[1], median([each.after_s for each in seen.batches]), backend),
        effect=effect,
        interval=interval,
        verdict=effect_verdict(effect, threshold, shown=shown),
    )


def comparison(
    sides: tuple[Operand, Operand],
    changes: Sequence[Change],
    backend: str,
    threshold: float,
    notes: Sequence[str],
) -> Comparison:
    """As one of two runs, by which it is shown; the largest effect first."""
    created = datetime.now(UTC).isoformat(timespec="seconds")
    named = [
        Named(
            id=side.typed,
            created=created,
            grade=Grade.MEASURED,
            backend=backend,
            tool_version=VERSION,
            cases=len(changes),
        )
        for side in sides
    ]
    ordered = sorted(changes, key=lambda each: (not each.verdict.changed, -distance(each.effect or 0.0)))
    return Comparison(
        before=named[0],
        after=named[1],
        threshold=threshold,
        confidence=CONFIDENCE,
        differs=(),
        changes=tuple(ordered),
        notes=tuple(notes),
    )


def gated(compared: Comparison, rules: Sequence[Rule], *, strict: bool) -> Gated:
    """Of each case the first of `rules` that fits counts, by its tolerance and direction."""
    findings = [
        _finding(each, rule_of(each.case, rules), compared.threshold or 0.0) for each in compared.changes
    ]
    return Gated(comparison=compared, findings=in_order(findings), strict=strict)


def _finding(each: Change, rule: Rule, least: float) -> Finding:
    outcome, kind, what = Outcome.PASSED, "", ""
    if each.effect is None:
        outcome, kind, what = Outcome.FAILED, "failure", f"it cannot be compared: {each.why}"
    else:
        tolerance = rule.tolerance if rule.tolerance is not None else least
        wrong = rule.direction.wrong
        ends = (each.interval.low, each.interval.high) if each.interval is not None else (each.effect,)
        reach = max(map(wrong, ends))
        sentence = (
            f"{each.metric} {signed_percent(each.effect)} ({interval_text(each)}), rule {rule.name} allows "
            f"{100.0 * tolerance:g} %"
        )
        if each.verdict.changed and wrong(each.effect) > tolerance:
            outcome, kind, what = Outcome.FAILED, str(each.verdict), sentence
        elif reach > tolerance:
            more = "and the interval reaches beyond that; --sample-time 60 narrows it"
            outcome, kind, what = Outcome.INCONCLUSIVE, "metric", f"{sentence}, {more}"
    return finding_of(each.case, rule, outcome, id=each.id, kind=kind, what=what, change=each)
