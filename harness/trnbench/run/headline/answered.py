"""From the cases that answer a question to the line that says so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trnbench.facts.format import show
from trnbench.facts.scope import Scope
from trnbench.results.evidence import Grade
from trnbench.results.expectation import NOT_RECORDED, above, expected
from trnbench.results.measurement import Measurement, Metric, Value
from trnbench.results.nearness import Nearness
from trnbench.results.own_product import OwnProduct
from trnbench.results.run import Run
from trnbench.results.waterfall import from_peak, stored
from trnbench.run.headline.line import Cause, Line, PerCore, Sweep
from trnbench.run.headline.promised import others, promised, superseding
from trnbench.run.headline.question import PRODUCTS, Answer, primary

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


_BYTES = ("hbm", "dma", "copy", "link", "collective")
"""Families whose axis `size` counts bytes; elsewhere it is the side of a matrix."""
_NAMED = 3
"""Words of an axis that are listed; more are counted."""


def swept(cases: Sequence[Measurement], best: Measurement) -> tuple[str, str]:
    """(`size 128 to 16,384`, `16,384`): the axes that vary over `cases`, and where `best` stands; the point
    of the only case, and "", where none varies. Axes that always move together are one."""
    names = [name for name in best.case.point if name != "dtype"]
    columns = {name: tuple(each.case.point.get(name) for each in cases) for name in names}
    together: dict[tuple[Value | None, ...], list[str]] = {}
    for name, column in columns.items():
        together.setdefault(column, []).append(name)
    moving = {column: held for column, held in together.items() if len(set(column)) > 1}
    if not moving:
        return ", ".join(f"{'='.join(held)} {axis_text(best, held[0])}" for held in together.values()), ""
    over = [f"{'='.join(held)} {_range(column, best, held[0])}" for column, held in moving.items()]
    at = [axis_text(best, held[0]) for held in moving.values()]
    return ", ".join(over), ", ".join(at)


def _range(column: Sequence[Value | None], case: Measurement, name: str) -> str:
    numbers = [each for each in column if isinstance(each, int | float) and not isinstance(each, bool)]
    if len(numbers) == len(column):
        return f"{_shown(min(numbers), case, name)} to {_shown(max(numbers), case, name)}"
    kinds = list(dict.fromkeys(str(each) for each in column))
    return ", ".join(kinds) if len(kinds) <= _NAMED else f"{len(kinds)} kinds"


def axis_text(case: Measurement, name: str) -> str:
    """`1 GiB` or `4,096`: where the case stands on an axis, in words."""
    return _shown(case.case.point.get(name, ""), case, name)


def _shown(value: Value, case: Measurement, name: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if name == "size" and case.case.family in _BYTES and 0 <= value < 1e30:
        return show(float(value), "B")
    return f"{value:,}"


SHOWN = 3
LEAST = 0.005
"""Of the time: a smaller cause explains nothing."""
IDEAL = "ideal"
"""The first term of a fabric's waterfall: what its links allow."""


def rest(case: Measurement) -> tuple[Cause, ...]:
    """Shares of the time that the stored waterfall holds between the work at the judged peak and the time;
    none where a run stores none. Before they are cut to the largest they add up to 1 − share of the peak."""
    terms = stored(case)
    if not terms or not case.time_s:
        return ()
    (first, seconds), *others = terms
    if first == IDEAL:
        terms = (("links", seconds), *others)
    if case.judgement is not None:
        terms = from_peak(terms, case.judgement.fraction * case.time_s)
    causes = [Cause(name=name, share=share / case.time_s) for name, share in _net(terms[1:])]
    return tuple(
        sorted((each for each in causes if each.share >= LEAST), key=lambda each: (-each.share, each.name))
    )[:SHOWN]


def _net(terms: Sequence[tuple[str, float]]) -> Iterator[tuple[str, float]]:
    """What is gained, by a limit above the documented peak, is taken off the losses that follow it: only
    time beyond the work at the peak is told."""
    gained = 0.0
    for name, seconds in terms:
        left = seconds + gained
        gained = min(left, 0.0)
        if left > 0.0:
            yield name, left
