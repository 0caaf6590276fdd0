"""From counts and a time to typed metrics: every number with unit, scope, direction and formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from trnbench.facts.scope import Direction, Scope
from trnbench.kernels.case import Case
from trnbench.kernels.kernel import PrimaryMetric
from trnbench.results.measurement import Metric

BUSBW_FACTORS: Mapping[str, Callable[[int], float]] = MappingProxyType(
    {
        "all_reduce": lambda n: 2 * (n - 1) / n,
        "all_gather": lambda n: (n - 1) / n,
        "reduce_scatter": lambda n: (n - 1) / n,
        "all_to_all": lambda n: (n - 1) / n,
        "broadcast": lambda n: 1.0,
        "reduce": lambda n: 1.0,
        "send_recv": lambda n: 1.0,
    }
)
"""busbw = algbw × factor(ranks), so that one link figure bounds every collective.

Source: nccl-tests, doc/PERFORMANCE.md ("Bus bandwidth").
"""

_BYTES = "_bytes"
_FLOPS = "_flops"


def rank_scope(case: Case) -> Scope:
    """What one rank of a collective is: a device, or a core where there is a rank for every core."""
    extent = case.extent
    return Scope.CORE if extent.ranks == extent.cores and extent.cores > extent.devices else Scope.DEVICE


def primary_scope(case: Case) -> Scope:
    """The scope of the metric a case is judged by.

    Work is counted per unit of the case's scope, but what goes over the links is counted per rank:
    the document's figure is then one device's (or core's), whatever system the ranks sit in.
    """
    primary = case.kernel.primary
    if primary.count == "link_bytes" and primary.peak in ("", "neuronlink_bandwidth"):
        return rank_scope(case)
    return case.key.scope


def derive(case: Case, counts: Mapping[str, float], time_s: float) -> dict[str, Metric]:
    """Every metric that follows from `counts` (see `Work.as_counts`) and the time of one repetition.

    The kernel's primary metric comes first. Raises `KeyError` with the count's name when the
    primary metric divides a count that the case does not have.
    """
    primary = case.kernel.primary
    scope = case.key.scope
    metrics: dict[str, Metric] = {}

    def add(
        name: str,
        value: float,
        unit: str,
        formula: str,
        *,
        better: str = "higher",
        scope: Scope = scope,
        direction: Direction = Direction.NONE,
    ) -> None:
        if name not in metrics:
            metrics[name] = Metric(
                name=name,
                value=value,
                unit=unit,
                better=better,
                scope=scope,
                direction=direction,
                formula=formula,
            )

    if primary.count:
        add(
            primary.name,
            counts[primary.count] / time_s,
            primary.unit,
            f"{primary.count} / time",
            better=primary.better,
            scope=primary_scope(case),
            direction=primary.direction,
        )
    else:
        add(
            primary.name,
            time_s,
            primary.unit,
            "time of one repetition",
            better=primary.better,
            direction=primary.direction,
        )
    if "link_bytes" in counts:
        _link_metrics(case, primary, counts["link_bytes"] / time_s, add)
    for count, amount in counts.items():
        if count == "flops":
            add("flops_per_s", amount / time_s, "FLOP/s", "flops / time")
        elif count.endswith(_FLOPS):
            add(f"{count}_per_s", amount / time_s, "FLOP/s", f"{count} / time")
        elif count.endswith(_BYTES) and count != "link_bytes":
            add(f"{count}_per_s", amount / time_s, "B/s", f"{count} / time")
    if counts.get("flops") and counts.get("hbm_bytes"):
        add("flops_per_hbm_byte", counts["flops"] / counts["hbm_bytes"], "FLOP/B", "flops / hbm_bytes")
    add("latency_s", time_s, "s", "time of one repetition", better="lower")
    return metrics


def _link_metrics(case: Case, primary: PrimaryMetric, busbw: float, add: Callable[..., None]) -> None:
    """busbw is what every rank must send per second; algbw is the collective's size per second."""
    scope = rank_scope(case)
    add(
        "busbw_bytes_per_s",
        busbw,
        "B/s",
        "link_bytes / time: what one rank must send",
        scope=scope,
        direction=Direction.ONE_WAY,
    )
    rule = BUSBW_FACTORS.get(primary.factor)
    if rule is not None and case.extent.ranks > 1:
        factor = rule(case.extent.ranks)
        add(
            "algbw_bytes_per_s",
            busbw / factor,
            "B/s",
            f"busbw / {factor:.6g} (factor of {primary.factor} over {case.extent.ranks} ranks)",
            scope=scope,
        )
