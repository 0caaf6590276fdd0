"""What is known about a judged case beside its number."""

from __future__ import annotations

from collections.abc import Mapping

from trnbench.backend import Observation
from trnbench.facts.peak import PeakChoice
from trnbench.facts.scope import Scope
from trnbench.generation import System
from trnbench.kernels.case import Case
from trnbench.results.measurement import Metric
from trnbench.run.guard import Circumstances


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
        cache_bytes=cache * max(case.extent.cores, 1),
        other_dtype_ratios=_faster_dtypes(case, system, choice) if metric.unit == "FLOP/s" else (),
    )


def _faster_dtypes(case: Case, system: System, choice: PeakChoice) -> tuple[tuple[str, float], ...]:
    """Types with a higher documented peak than the one the case names, and how much higher."""
    primary = case.primary
    if primary.peak != "peak_flops" or not case.key.dtype:
        return ()
    subject = system.subject(choice.chosen.scope)
    here = {
        dtype: fact.value
        for fact in system.book.select(subject, "peak_flops", sparse=False, qualifier=primary.qualifier)
        if fact.value is not None and not fact.superseded_by
        for dtype in fact.dtypes
    }
    own = here.get(case.key.dtype)
    if not own:
        return ()
    return tuple(sorted((dtype, value / own) for dtype, value in here.items() if value > own))
