"""From the cases of a run to the lines of its headline, in the order in which they may be believed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from trnbench.bounded.kinds import is_number
from trnbench.case_key import Value
from trnbench.facts.fact import Scope
from trnbench.record import Record
from trnbench.results.expectation import NOT_RECORDED, above, expected, expected_seconds
from trnbench.results.fidelity import OwnProduct
from trnbench.results.measurement import (
    ALARMING,
    IN_MODEL,
    Grade,
    Measurement,
    Metric,
    Nearness,
    status_words,
    stored_waterfall,
    waterfall_from_peak,
)
from trnbench.results.run import Run
from trnbench.run.headline import (
    BESIDE,
    OTHER,
    PRODUCTS,
    QUESTIONS,
    Answer,
    answers,
    axis_text,
    order_of,
    primary,
    ranks_of,
    value_text,
)
from trnbench.run.headline.line import (
    UNSTATED,
    Cause,
    Line,
    PerCore,
    Step,
    Sweep,
    others,
    promised,
    superseding,
)
from trnbench.run.headline.words import Card, Said, cards, said

REASONS = {
    Nearness.ELSEWHERE: "published on another generation only",
    Nearness.NONE: "nothing published stands near it",
}
FORMULA = "worked out by a formula: no program stands behind it"


def line(run: Run, answer: Answer) -> Line:
    """`answer` has at least one case, each with a judged metric that can be shown."""
    valued = [(case, metric) for case in answer.cases if (metric := primary(case)) is not None]
    ranked = sorted(valued, key=lambda each: each[1].value, reverse=valued[0][1].better == "higher")
    (best, metric), (_, worst) = ranked[0], ranked[-1]
    nearest = best.evidence.nearest if best.evidence.grade is not Grade.MEASURED else None
    reason = _muted(best)
    band = nearest.band if nearest is not None and not reason else None
    over, position = swept([each for each, _ in valued], best)
    judged = best.judgement
    clock = judged.peaks.engine_bound if judged is not None else None
    ranks, counts = _ranks(run, best, metric)
    own, own_outdated = _own(run, answer, best)
    return Line(
        question=answer.question.name,
        generation=best.case.generation,
        systems=answer.systems,
        scope=best.case.scope,
        division=best.case.division,
        kernel=best.case.kernel,
        dtype=best.case.dtype,
        grade=best.evidence.grade,
        sweep=Sweep(
            metric=metric.name,
            unit=metric.unit,
            better=metric.better,
            points=len(valued),
            worst=worst.value,
            best=metric.value,
            over=over,
            at=position,
            case=best.id,
        ),
        whole=answer.whole,
        ranks=ranks,
        counts=counts,
        of=promised(run, best),
        since=superseding(run, best),
        others=others(run, best),
        clock=judged.of_engine_bound if judged is not None else None,
        clock_value=clock.value if clock is not None else None,
        nearness=str(nearest.kind) if nearest is not None else "",
        expected=expected(best) if band is not None else None,
        votes=band.votes if band is not None else 0,
        widened=band.widened if band is not None else "",
        band_note=nearest.note if nearest is not None and band is not None else "",
        published=nearest.best if nearest is not None else None,
        above=above(metric.value, metric, nearest.best) if nearest is not None else "",
        of_core=_of_core(run, answer, best) if nearest is not None and nearest.best is None else None,
        bound=best.bound,
        rest=rest(best),
        own=own,
        own_outdated=own_outdated,
        step=_step(best, answer.cases) if answer.question.name == OTHER else None,
        muted=bool(reason),
        reason=reason,
    )


def _step(case: Measurement, cases: Sequence[Measurement]) -> Step | None:
    rate = case.metrics.get("tokens_per_s")
    if rate is None or case.time_s is None:
        return None
    expected_s = expected_seconds(case) if not _muted(case) else None
    _, at = swept(cases, case, named=True)
    return Step(time_s=case.time_s, tokens_per_s=rate.value, expected_s=expected_s, at=at)


def _of_core(run: Run, answer: Answer, best: Measurement) -> PerCore | None:
    """What was published of the same product on one core of the same system, else of any on a core pair.

    Of products alone: cores do not share their engines, but they share memory and links. It is never
    multiplied to a device.
    """
    if answer.question.kernels != PRODUCTS or best.case.scope is not Scope.DEVICE:
        return None
    key = best.case
    alike = [
        case
        for case in run.measurements
        if case.case.instance == key.instance
        and case.case.family == key.family
        and case.case.dtype == key.dtype
    ]
    cores = [
        case
        for case in alike
        if (case.case.scope, case.case.kernel, case.case.point) == (Scope.CORE, key.kernel, key.point)
    ]
    pairs = [case for case in alike if case.case.scope is Scope.LOGICAL_CORE]
    return next(
        (published for case in (*cores, *pairs) if (published := _per_core(case, best.primary)) is not None),
        None,
    )


def _per_core(case: Measurement, metric: str) -> PerCore | None:
    nearest, judged = case.evidence.nearest, case.judgement
    best = nearest.best if nearest is not None else None
    if best is None or judged is None or best.metric != metric or judged.metric != metric:
        return None
    promise = judged.peaks.chosen.value
    if not promise > 0:
        return None
    return PerCore(published=best, fraction=best.value / promise, case=case.id, scope=case.case.scope)


def _muted(case: Measurement) -> str:
    """Why no interval can be given; "" for what was measured, and where a band stands."""
    if case.evidence.grade is Grade.MEASURED:
        return ""
    if case.evidence.grade is Grade.DERIVED:
        return FORMULA
    nearest = case.evidence.nearest
    if nearest is None:
        return NOT_RECORDED
    if nearest.kind.banded and nearest.band is not None:
        return ""
    return nearest.note or REASONS.get(nearest.kind, "no band is known")


def _ranks(run: Run, case: Measurement, metric: Metric) -> tuple[str, str]:
    """How many ranks of what kind; what is counted. Empty for what has no ranks."""
    record = run.systems.get(case.case.instance)
    if record is None:
        return "", ""
    if metric.name == "network_bytes_per_s":
        return f"{record.hosts:,} hosts", "what each sends"
    found = ranks_of(run, case)
    if metric.name != "busbw_bytes_per_s" or case.case.kernel != "all_reduce" or found is None:
        return "", ""
    ranks, kind = found
    kinds = {record.devices: "device", record.devices * record.cores_per_device: "core"}
    return " ".join(filter(None, (f"{ranks:,}", kind and kinds.get(ranks, kind), "ranks"))), "bus bandwidth"


def _own(run: Run, answer: Answer, best: Measurement) -> tuple[tuple[OwnProduct, ...], str]:
    """Products, and why there are none where they are out of date. Of the model alone: a measured product
    needs none of its errors."""
    measured = best.evidence.grade is Grade.MEASURED
    if run.fidelity is None or answer.question.kernels != PRODUCTS or measured:
        return (), ""
    generation = best.case.generation
    products = tuple(product for product in run.fidelity.products if product.generation == generation)
    return products, run.fidelity.outdated.get(generation, "")


_NAMED = 3
"""Words of an axis that are listed; more are counted."""


def swept(cases: Sequence[Measurement], best: Measurement, *, named: bool = False) -> tuple[str, str]:
    """(`size 128–16,384`, `16,384`): the axes that vary over `cases`, and where `best` stands; the point
    of the only case, and "", where none varies. Axes that always move together are one. `named`: it stands at
    `size 16,384`."""
    names = [name for name in best.case.point if name != "dtype"]
    columns = {name: tuple(case.case.point.get(name) for case in cases) for name in names}
    together: dict[tuple[Value | None, ...], list[str]] = {}
    for name, column in columns.items():
        together.setdefault(column, []).append(name)
    moving = {column: held for column, held in together.items() if len(set(column)) > 1}
    if not moving:
        return ", ".join(f"{'='.join(held)} {axis_text(best, held[0])}" for held in together.values()), ""
    over = [f"{'='.join(held)} {_range(column, best, held[0])}" for column, held in moving.items()]
    at = [
        f"{'='.join(held)} {axis_text(best, held[0])}" if named else axis_text(best, held[0])
        for held in moving.values()
    ]
    return ", ".join(over), ", ".join(at)


def _range(column: Sequence[Value | None], case: Measurement, name: str) -> str:
    numbers = [value for value in column if is_number(value)]
    if len(numbers) == len(column):
        return f"{value_text(min(numbers), case, name)}–{value_text(max(numbers), case, name)}"
    kinds = list(dict.fromkeys(str(value) for value in column))
    return ", ".join(kinds) if len(kinds) <= _NAMED else f"{len(kinds)} kinds"


SHOWN = 3
LEAST = 0.005
"""Of the time: a smaller cause explains nothing."""
IDEAL = "ideal"
"""The first term of a fabric's waterfall: what its links allow."""


def rest(case: Measurement) -> tuple[Cause, ...]:
    """Shares of the time that the stored waterfall holds between the work at the judged peak and the time;
    none where a run stores none. Before they are cut to the largest they add up to 1 − share of the peak."""
    terms = stored_waterfall(case)
    if not terms or not case.time_s:
        return ()
    (first, seconds), *others = terms
    if first == IDEAL:
        terms = (("links", seconds), *others)
    if case.judgement is not None:
        terms = waterfall_from_peak(terms, case.judgement.fraction * case.time_s)
    causes = [
        Cause(name=name.removesuffix(IN_MODEL), share=share / case.time_s) for name, share in _net(terms[1:])
    ]
    return tuple(
        sorted((cause for cause in causes if cause.share >= LEAST), key=lambda each: (-each.share, each.name))
    )[:SHOWN]


def _net(terms: Sequence[tuple[str, float]]) -> Iterator[tuple[str, float]]:
    """What is gained, by a limit above the documented peak, is taken off the losses that follow it: only
    time beyond the work at the peak is told."""
    gained = 0.0
    for name, seconds in terms:
        loss = seconds + gained
        gained = min(loss, 0.0)
        if loss > 0.0:
            yield name, loss


UNSTATED_NOTE = "No document says whether a figure of links counts one direction or both."
_ASKED = [question.name for question in (*QUESTIONS, *BESIDE)]


class Headline(Record, kw_only=True):
    """`lines`: by question and generation, what has no band last; `silence`: why there is no line, else "".
    `cards`: the same lines by generation.
    `alarms`: (system, `1 suspect, 2 failed`) of each with such or inconclusive cases. `means`: what an
    emulated number is.
    `footnote`: what is to be known of the figures of several lines.
    """

    lines: tuple[Line, ...] = ()
    alarms: tuple[tuple[str, str], ...] = ()
    means: str = ""
    footnote: str = ""
    silence: str = ""
    cards: tuple[Card, ...] = ()

    @property
    def said(self) -> tuple[tuple[Line, Said], ...]:
        """Each line with its words. A reason that several grey lines share is told with the first."""
        reasons = [entry.reason if entry.muted else "" for entry in self.lines]
        sentences = []
        for at, entry in enumerate(self.lines):
            repeated = bool(at and entry.muted and reasons[at - 1] == entry.reason)
            alike = -1 if repeated else sum(reason == entry.reason for reason in reasons[at + 1 :])
            sentences.append((entry, said(entry, alike)))
        return tuple(sentences)


def headline(run: Run) -> Headline:
    """What a run says first, from what is stored in it alone."""
    lines = [line(run, answer) for answer in answers(run)]
    order = order_of(run)
    lines.sort(key=lambda each: (each.muted, _asked(each), order(each.generation)))
    # Grey lines of one reason stand together.
    reasons = list(dict.fromkeys(each.reason for each in lines if each.muted))
    lines.sort(key=lambda each: reasons.index(each.reason) if each.muted else -1)
    unstated = any(each.of is not None and each.of.note == UNSTATED for each in lines)
    return Headline(
        lines=tuple(lines),
        alarms=_alarms(run),
        means=_means(run),
        footnote=UNSTATED_NOTE if unstated else "",
        silence="" if lines else _silence(run),
        cards=cards(run, lines),
    )


def _asked(each: Line) -> int:
    return _ASKED.index(each.question) if each.question in _ASKED else len(_ASKED)


def _alarms(run: Run) -> tuple[tuple[str, str], ...]:
    bad: dict[str, Counter[str]] = {}
    for measurement in run.measurements:
        if measurement.status in ALARMING:
            bad.setdefault(measurement.case.instance, Counter())[str(measurement.status)] += 1
    return tuple(
        (system, ", ".join(f"{counts[status]} {status}" for status in sorted(counts, reverse=True)))
        for system, counts in bad.items()
    )


def _means(run: Run) -> str:
    models = {
        f"{measurement.evidence.by} {measurement.evidence.version}".strip()
        for measurement in run.measurements
        if str(measurement.evidence.grade) == "emulated" and measurement.time_s is not None
    }
    if not models:
        return ""
    return f"Emulated: computed by a model ({', '.join(sorted(models))}), not run on the device."


_FIGURES = re.compile(r"\d[\d.,]*(?: [KMGT]i?B)?")


def _silence(run: Run) -> str:
    """What became of the cases, and the commonest reason."""
    if not run.measurements:
        return "no case was carried out"
    alarms = _alarms(run)
    counts = status_words(run.counts())
    if len(alarms) == 1 and all(each.status in ALARMING for each in run.measurements):
        counts = ""  # the alarm says it
    kinds: dict[str, list[str]] = {}  # a reason has figures that differ from case to case
    for measurement in run.measurements:
        if measurement.reason_text:
            kinds.setdefault(_FIGURES.sub("0", measurement.reason_text), []).append(measurement.reason_text)
    why = f"most often: {max(kinds.values(), key=len)[0]}" if kinds else ""
    detail = "; ".join(filter(None, (counts, why)))
    return f"no case gave a number to hold against a document{f' ({detail})' if detail else ''}"
