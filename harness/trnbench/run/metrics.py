"""Metrics of a case from its counts and time, with unit, scope, direction and formula, and their peaks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from trnbench.facts.fact import Direction, PeakChoice, PeakPolicy, Scope
from trnbench.generation import System
from trnbench.kernels.kernel import Case
from trnbench.peaks.choose import scaled
from trnbench.reference import resolve
from trnbench.results.measurement import Metric


def primary_scope(case: Case) -> Scope:
    """What the judged metric speaks of: the kernel's own word (busbw is one rank's), or the case's scope."""
    return case.primary.scope or case.key.scope


def derive(case: Case, counts: Mapping[str, float], time_s: float) -> dict[str, Metric]:
    """Every metric that follows from `counts` (see `Work.as_counts`) and the time of one repetition.

    The kernel's primary metric comes first. Raises `KeyError` with the count's name when the
    primary metric divides a count that the case does not have.
    """
    scope = case.key.scope
    rates = (_rate(case, count, amount / time_s) for count, amount in counts.items())
    metrics = [_primary(case, counts, time_s), *(rate for rate in rates if rate is not None)]
    if counts.get("flops") and counts.get("hbm_bytes"):
        intensity = counts["flops"] / counts["hbm_bytes"]
        metrics.append(_metric("flops_per_hbm_byte", intensity, "FLOP/B", "flops / hbm_bytes", scope))
    metrics.append(_metric("latency_s", time_s, "s", "time of one repetition", scope, better="lower"))
    by_name: dict[str, Metric] = {}
    for metric in metrics:
        by_name.setdefault(metric.name, metric)
    return by_name


def _primary(case: Case, counts: Mapping[str, float], time_s: float) -> Metric:
    primary = case.primary
    value = counts[primary.count] / time_s if primary.count else time_s
    return _metric(
        primary.name,
        value,
        primary.unit,
        f"{primary.count} / time" if primary.count else "time of one repetition",
        primary_scope(case) if primary.count else case.key.scope,
        better=primary.better,
        direction=primary.direction,
    )


def unit_of(count: str) -> str:
    """The base unit of a count per second, that of a time without one; "" where it may be any."""
    if count == "flops" or count.endswith("_flops"):
        return "FLOP/s"
    if count.endswith("_bytes"):
        return "B/s"
    return {"": "s", "elements": "element/s", "instructions": "1/s", "tokens": "token/s"}.get(count, "")


def _rate(case: Case, count: str, rate: float) -> Metric | None:
    """A count per second; None for a count that no rate is made of."""
    scope, primary = case.key.scope, case.primary
    if count == "link_bytes":
        # What one rank must send already holds the busbw factor (nccl-tests, doc/PERFORMANCE.md).
        rank = (primary.scope if primary.count == count else None) or Scope.DEVICE
        formula = "link_bytes / time: what one rank must send"
        return _metric("busbw_bytes_per_s", rate, "B/s", formula, rank, direction=Direction.ONE_WAY)
    if count == "payload_bytes":
        return _metric(
            "algbw_bytes_per_s", rate, "B/s", "payload_bytes / time: the collective's whole tensor", scope
        )
    if count == "tokens":
        return _metric("tokens_per_s", rate, "token/s", "tokens / time: new ones of all sequences", scope)
    if (unit := unit_of(count)) in ("FLOP/s", "B/s"):
        return _metric(f"{count}_per_s", rate, unit, f"{count} / time", scope)
    return None


def _metric(
    name: str,
    value: float,
    unit: str,
    formula: str,
    scope: Scope,
    *,
    better: str = "higher",
    direction: Direction = Direction.NONE,
) -> Metric:
    return Metric(
        name=name, value=value, unit=unit, better=better, scope=scope, direction=direction, formula=formula
    )


Chooser: TypeAlias = Callable[..., PeakChoice | None]
"""`trnbench.peaks.choose_peak`, or a stand-in with its arguments."""


class CasePeaks:
    """Looked up once for all cases alike; `alternatives`: with the figures that are not chosen."""

    def __init__(
        self, policy: PeakPolicy, choose: Chooser | None = None, *, alternatives: bool = True
    ) -> None:
        self._policy, self._alternatives = policy, alternatives
        self._choose = choose or resolve("trnbench.peaks:choose_peak")
        self._known: dict[tuple[Any, ...], PeakChoice | None] = {}

    def of(self, case: Case, system: System) -> PeakChoice | None:
        """The peak of the case's primary metric, of the same scope; None where no document has one."""
        primary = case.primary
        metric = primary.peak
        if not metric:
            return None
        by_dtype = metric in ("peak_flops", "element_rate")
        criteria: dict[str, Any] = {
            "metric": metric,
            "scope": primary_scope(case),
            "dtype": case.key.dtype if by_dtype else "",
            "sparse": primary.sparse or bool(case.key.point.get("sparse", False)),
            "qualifier": primary.qualifier,
            "direction": primary.direction,
            "extent": case.extent,
            "policy": self._policy,
            "alternatives": self._alternatives,
        }
        factor = primary.peak_factor(case.extent) if primary.peak_factor else Fraction(1)
        key = (system.name, *criteria.values(), factor)
        if key not in self._known:
            found = self._choose(system, **criteria)
            self._known[key] = scaled(found, factor, case.extent) if found else None
        return self._known[key]
