"""From the cases that answer a question to the line that says so."""

from __future__ import annotations

from trnbench.facts.scope import Scope
from trnbench.results.evidence import Grade
from trnbench.results.expectation import NOT_RECORDED, above, expected
from trnbench.results.measurement import Measurement, Metric
from trnbench.results.nearness import Nearness
from trnbench.results.own_product import OwnProduct
from trnbench.results.run import Run
from trnbench.run.headline.axes import swept
from trnbench.run.headline.line import Line, PerCore, Sweep
from trnbench.run.headline.promised import others, promised, superseding
from trnbench.run.headline.question import PRODUCTS, Answer, primary
from trnbench.run.headline.rest import rest

REASONS = {
    Nearness.ELSEWHERE: "published on another generation only",
    Nearness.NONE: "nothing published stands near it",
}
FORMULA = "worked out by a formula: no program stands behind it"


def line(run: Run, answer: Answer) -> Line:
    """`answer` has at least one case, each with a judged metric that can be shown."""
    valued = [(each, metric) for each in answer.cases if (metric := primary(each)) is not None]
    higher = valued[0][1].better == "higher"
    best, metric = (max if higher else min)(valued, key=lambda each: each[1].value)
    _, worst = (min if higher else max)(valued, key=lambda each: each[1].value)
    nearest = best.evidence.nearest if best.evidence.grade is not Grade.MEASURED else None
    reason = _muted(best)
    band = nearest.band if nearest is not None and not reason else None
    over, place = swept([each for each, _ in valued], best)
    judged = best.judgement
    return Line(
        question=answer.question.name,
        generation=best.case.generation,
        systems=answer.systems,
        scope=best.case.scope,
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
            at=place,
            case=best.id,
        ),
        whole=answer.whole,
        ranks=_ranks(run, best, metric),
        of=promised(run, best),
        since=superseding(run, best),
        others=others(run, best),
        clock=judged.of_engine_bound if judged is not None else None,
        clock_value=_clock(best),
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
        own=_own(run, answer, best),
        own_outdated=_own_outdated(run, answer, best),
        muted=bool(reason),
        reason=reason,
    )


def _clock(case: Measurement) -> float | None:
    judged = case.judgement
    bound = judged.peaks.engine_bound if judged is not None else None
    return bound.value if bound is not None else None


def _of_core(run: Run, answer: Answer, best: Measurement) -> PerCore | None:
    """The same product at the same point on one core of the same system: what was published of that.

    Of products alone: cores do not share their engines, but they share memory and links.
    """
    for case in run.measurements if answer.question.kernels == PRODUCTS else ():
        if (
            best.case.scope is Scope.DEVICE
            and case.case.scope is Scope.CORE
            and case.case.instance == best.case.instance
            and case.case.kernel == best.case.kernel
            and case.case.point == best.case.point
            and case.judgement is not None
        ):
            nearest, metric = case.evidence.nearest, case.metrics.get(best.primary)
            found = nearest.best if nearest is not None else None
            promise = case.judgement.peaks.chosen.value
            if found is None or metric is None or found.metric != metric.name or not promise > 0:
                return None
            return PerCore(published=found, fraction=found.value / promise, case=case.id)
    return None


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


def _ranks(run: Run, case: Measurement, metric: Metric) -> str:
    """How many ranks of what kind, from what each must send of the tensor, 2·(n−1)/n; what is counted.

    Empty for what has no ranks.
    """
    record = run.systems.get(case.case.instance)
    if record is None:
        return ""
    if metric.name == "network_bytes_per_s":
        return f"{record.hosts:,} hosts, what each sends"
    payload, link = (case.work.get(name, 0.0) for name in ("payload_bytes", "link_bytes"))
    share = link / payload if payload > 0 else 0.0
    if metric.name != "busbw_bytes_per_s" or case.case.kernel != "all_reduce" or not 1.0 <= share < 2.0:
        return ""
    ranks = round(2 / (2 - share))
    kinds = {record.devices: "device", record.devices * record.cores_per_device: "core"}
    return f"{ranks:,} {kinds.get(ranks, 'logical-core')} ranks, bus bandwidth"


def _own(run: Run, answer: Answer, best: Measurement) -> tuple[OwnProduct, ...]:
    """Of the model alone: a measured product needs none of its errors."""
    if run.fidelity is None or not _by_model(answer, best):
        return ()
    return tuple(each for each in run.fidelity.products if each.generation == best.case.generation)


def _own_outdated(run: Run, answer: Answer, best: Measurement) -> str:
    if run.fidelity is None or not _by_model(answer, best):
        return ""
    return run.fidelity.outdated.get(best.case.generation, "")


def _by_model(answer: Answer, best: Measurement) -> bool:
    return answer.question.kernels == PRODUCTS and best.evidence.grade is not Grade.MEASURED
