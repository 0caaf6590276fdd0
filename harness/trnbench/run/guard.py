"""The guard: what a number above its peak may mean, and whether the processes of a case agree on it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from trnbench.backend import Observation
from trnbench.facts.fact import Direction, PeakChoice, Scope
from trnbench.facts.units import percent
from trnbench.generation import System
from trnbench.kernels.kernel import Case
from trnbench.record import Record
from trnbench.results.measurement import Grade, Judgement, Metric, ProcessSamples, Stability, Status
from trnbench.results.stability import stability_of

TOLERANCE = 1e-3
"""0.1 %: documents round to four digits, and clocks of 1.4 GHz are printed with two."""

GIB_PER_GB = 2**30 / 1e9


class Circumstances(Record, kw_only=True):
    """What is known about a case beside its number; each field rules causes in or out."""

    unit: str
    scope: Scope
    direction: Direction
    grade: Grade
    clock: str
    cores: int = 1  # physical cores in the scope
    cores_per_device: int = 1
    devices: int = 1  # devices of the whole system
    working_set_bytes: float = 0.0  # 0: unknown
    cache_bytes: float = 0.0  # on-chip memory of the scope, 0: unknown
    other_dtype_ratios: tuple[tuple[str, float], ...] = ()  # how much higher the peak of another dtype is


class _Cause(Record):
    """A mistake that multiplies the true number by `factor`, or by anything up to it (`vague`)."""

    factor: float
    weight: float  # how common the mistake is, 0 to 1
    text: str
    vague: bool = False

    def fit(self, ratio: float) -> float:
        """How well the cause explains a result of `ratio` times the bound, 0 (not at all) to 1.

        Undoing the mistake leaves ratio / factor of the bound. More than the bound is no
        explanation; the closer below, the better: real results rarely reach less than half.
        """
        left = ratio / self.factor
        if left > 1.0 + 10 * TOLERANCE:
            return 0.0
        return self.weight if self.vague else self.weight * min(left, 1.0) ** 2


def weigh(metric: Metric, choice: PeakChoice, around: Circumstances) -> tuple[Status, str, Judgement]:
    """`metric` against its peak: ok, document-low or suspect, why, and its judgement with ranked causes."""
    fraction = _share(metric.value, choice.chosen.value, metric.better)
    bound = choice.engine_bound
    of_bound = _share(metric.value, bound.value, metric.better) if bound is not None else None
    judged = Judgement(metric=metric.name, fraction=fraction, peaks=choice, of_engine_bound=of_bound)
    above_document = fraction > 1.0 + TOLERANCE
    if of_bound is not None and of_bound > 1.0 + TOLERANCE:
        said = f"{percent(of_bound)} of what the clocks allow"
        return _impossible(judged, of_bound, around, said, ": it cannot be")
    if above_document and choice.chosen.evidence == "measured":
        comment = f"{percent(fraction)} of what small kernels reached on this machine: that is no bound"
        return Status.OK, "", replace(judged, comment=comment)
    if above_document and bound is not None:
        gap = _share(choice.chosen.value, bound.value, metric.better)
        text = (
            f"{percent(fraction)} of the documented figure, {percent(of_bound or 0.0)} of what the clocks "
            f"allow: the document's figure is low ({percent(gap)} of the clocks')"
        )
        causes = ("the document rounds its figure down, or prints it for a lower clock",)
        return Status.DOCUMENT_LOW, text, replace(judged, causes=causes, comment=text)
    if above_document and around.unit == "FLOP/s" and around.grade is Grade.MEASURED:
        # Rates of memory and links are printed as totals, and streams do exceed them. A peak of
        # operations is units × clock: nothing honest is above it but a clock that was boosted.
        said = f"{percent(fraction)} of the documented peak"
        return _impossible(judged, fraction, around, said, ", and no clock is known that allows it")
    highest = _of_highest(metric, choice)
    if bound is None and around.grade in (Grade.EMULATED, Grade.DERIVED) and highest > 1.0 + TOLERANCE:
        # A model is made of documented rates: beyond all of them it counts something wrong.
        said = f"{percent(highest)} of the highest figure that a document gives"
        return _impossible(judged, highest, around, said, ": no model of these documents can say so")
    if bound is not None:
        return Status.OK, "", judged
    comment = "no document gives a clock that bounds this figure: compared, not judged"
    if not above_document:
        return Status.OK, "", replace(judged, comment=comment)
    comment = f"{percent(fraction)} of the documented figure; {comment}"
    ranked = rank_causes(fraction, around)
    # A model may follow a newer document than the one that it is held against.
    text = f"{comment}; the likeliest mistake: {ranked[0]}" if around.grade is Grade.MEASURED else ""
    return Status.OK, text, replace(judged, causes=ranked, comment=comment)


def _impossible(
    judged: Judgement, share: float, around: Circumstances, said: str, why: str
) -> tuple[Status, str, Judgement]:
    """A number that cannot be: `share` of its bound is too much."""
    causes = rank_causes(share, around)
    text = f"{said}; most likely: {causes[0]}"
    return Status.SUSPECT, text, replace(judged, causes=causes, comment=said + why)


def _of_highest(metric: Metric, choice: PeakChoice) -> float:
    """Of the most that any document promises; 0 where the peak was measured."""
    if choice.chosen.evidence == "measured":
        return 0.0
    figures = [peak.value for peak in (choice.chosen, *choice.alternatives) if peak.value > 0.0]
    return min((_share(metric.value, figure, metric.better) for figure in figures), default=0.0)


def rank_causes(ratio: float, around: Circumstances) -> tuple[str, ...]:
    """Sentences that may explain `ratio` times the bound, likeliest first; never empty."""
    scored = [(cause.fit(ratio), cause) for cause in _causes(around)]
    kept = sorted((pair for pair in scored if pair[0] > 0.0), key=lambda pair: -pair[0])
    sentences = [
        cause.text if cause.vague else f"{cause.text}: undone, {percent(ratio / cause.factor)} remain"
        for _, cause in kept
    ]
    return tuple(sentences) or ("none of the known mistakes gives this ratio: read the kernel's counts",)


def _causes(around: Circumstances) -> list[_Cause]:
    rate, flops = around.unit == "B/s", around.unit == "FLOP/s"
    causes: list[_Cause] = []
    if around.grade in (Grade.EMULATED, Grade.DERIVED):
        causes.append(_Cause(float("inf"), 0.55, "the model charges this case less than the clocks do", True))
    else:
        # Likelier than a wrong timer, which rarely errs by so little.
        causes.append(_Cause(1.25, 0.7, "a clock boosted above the documented one", True))
    if rate:
        causes += [
            _Cause(GIB_PER_GB, 1.0, "GiB counted as GB (factor 1.074)"),
            _Cause(2**20 / 1e6, 0.9, "MiB counted as MB (factor 1.049)"),
            _Cause(1.024, 0.8, "KiB counted as kB (factor 1.024)"),
        ]
        duplex = around.direction is not Direction.NONE
        text = "both directions counted against one" if duplex else "reads and writes both counted"
        causes.append(_Cause(2.0, 1.0 if duplex else 0.8, f"{text} (factor 2)"))
        inside = 0.0 < around.working_set_bytes <= around.cache_bytes
        weight = 0.9 if inside else 0.3 if around.working_set_bytes == 0.0 else 0.0
        if weight and around.direction is Direction.NONE:
            causes.append(_Cause(64.0, weight, "the data stayed in on-chip memory (cache-resident)", True))
    if flops:
        causes.append(_Cause(2.0, 0.8, "FLOP counted twice, or work folded away (factor 2)"))
        causes.append(_Cause(4.0, 0.5, "sparse work counted as dense (factor 4)"))
        causes += [
            _Cause(factor, 0.7, f"computed in {dtype}, not in the type named (factor {factor:.3g})")
            for dtype, factor in around.other_dtype_ratios
        ]
    if around.scope is Scope.CORE:
        # The factor of two also fits a device with two cores; LNC is the sharper word for it.
        causes.append(_Cause(2.0, 0.9, "LNC=2: two physical cores counted as one (factor 2)"))
    per_device = around.cores_per_device
    if around.scope.rank < Scope.DEVICE.rank and around.cores < per_device:
        factor = per_device / around.cores
        causes.append(_Cause(factor, 0.95, f"a whole device counted as one core (factor {factor:.3g})"))
    if around.scope.rank <= Scope.DEVICE.rank and around.devices > 1:
        causes.append(
            _Cause(around.devices, 0.85, f"the whole system counted as one device (factor {around.devices})")
        )
    if around.clock != "model":
        weight = 0.65 if around.clock == "host" else 0.35
        causes.append(
            _Cause(
                float("inf"), weight, "the timer stopped before the device had finished (asynchronous)", True
            )
        )
    return causes


def _share(value: float, peak: float, better: str) -> float:
    return value / peak if better == "higher" else peak / value


def circumstances(
    case: Case,
    seen: Observation,
    system: System,
    counts: Mapping[str, float],
    metric: Metric,
    choice: PeakChoice,
) -> Circumstances:
    """What the guard may blame: `counts` is the work of the case, `metric` its judged number."""
    cache = system.fact(Scope.CORE, "sbuf_capacity") or 0.0
    return Circumstances(
        unit=metric.unit,
        scope=metric.scope,
        direction=metric.direction,
        grade=seen.evidence.grade,
        clock=seen.clock,
        cores=case.extent.cores,
        cores_per_device=system.cores_per_device,
        devices=system.devices,
        working_set_bytes=counts.get("hbm_bytes", 0.0),
        cache_bytes=cache * case.extent.cores,
        other_dtype_ratios=_faster_dtypes(case, system, choice) if metric.unit == "FLOP/s" else (),
    )


def _faster_dtypes(case: Case, system: System, choice: PeakChoice) -> tuple[tuple[str, float], ...]:
    """Types with a higher documented peak than the one the case names, and how much higher."""
    subject, qualifier = system.subject(choice.chosen.scope), case.primary.qualifier
    here = {
        dtype: fact.value
        for fact in system.book.select(subject, "peak_flops", sparse=False, qualifier=qualifier)
        if fact.value and not fact.superseded_by
        for dtype in fact.dtypes
    }
    own = here.get(case.key.dtype, math.inf)
    return tuple(sorted((dtype, value / own) for dtype, value in here.items() if value > own))


class Belief(Record, kw_only=True):
    """What a number is worth after all its processes; `stability` is None where it was not asked for."""

    status: Status
    reason_text: str = ""
    stability: Stability | None = None


def belief_of(
    status: Status, text: str, processes: Sequence[ProcessSamples], *, host_clock: bool, steady: bool
) -> Belief:
    """`status` and `text`, as peaks have them, after what the processes have to say.

    What speaks against the number whatever the machine did makes it suspect. Times held against each other
    (growth, clocks, a rate above the peak) count where the times are steady, and growth where most processes
    saw it; where they are not, nothing is known. `steady`: whether to ask, which is of no use of a model, nor
    of one process of several.
    """
    doubts = next((process.doubts for process in processes if process.doubts), ())
    doubting = [process.doubts_of_time for process in processes if process.doubts_of_time]
    of_time = doubting[0] if 2 * len(doubting) > len(processes) else ()
    told = (text,) if text else ()
    if not steady:
        return (
            _suspect((*doubts, *of_time), told)
            if doubts or of_time
            else Belief(status=status, reason_text=text)
        )
    stability = stability_of(processes, host_clock=host_clock)
    # The host's times are part of these doubts even where a device's clock took the result.
    unsure = stability if host_clock or not of_time else stability_of(processes)
    unsteady = "unstable" in (stability.verdict, unsure.verdict)
    if doubts:
        return _suspect((*doubts, *(() if unsteady else of_time)), told, stability)
    if unsteady:
        shaky = stability if stability.verdict == "unstable" else unsure
        return Belief(
            status=Status.INCONCLUSIVE, reason_text=f"{shaky.why}; try: {shaky.advice}", stability=stability
        )
    if of_time:
        return _suspect(of_time, told, stability)
    return Belief(status=status, reason_text=text, stability=stability)


def _suspect(doubts: Sequence[str], told: Sequence[str], stability: Stability | None = None) -> Belief:
    return Belief(status=Status.SUSPECT, reason_text="; ".join((*doubts, *told)), stability=stability)
