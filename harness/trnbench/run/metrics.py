"""From counts and a time to typed metrics: every number with unit, scope, direction and formula."""

from __future__ import annotations

from collections.abc import Mapping

from trnbench.facts.scope import Direction, Scope
from trnbench.kernels.case import Case
from trnbench.results.measurement import Metric


def primary_scope(case: Case) -> Scope:
    """What the judged metric speaks of: the kernel's own word (busbw is one rank's), or the case's scope."""
    return case.primary.scope or case.key.scope


def derive(case: Case, counts: Mapping[str, float], time_s: float) -> dict[str, Metric]:
    """Every metric that follows from `counts` (see `Work.as_counts`) and the time of one repetition.

    The kernel's primary metric comes first. Raises `KeyError` with the count's name when the
    primary metric divides a count that the case does not have.
    """
    primary = case.primary
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
    for count, amount in counts.items():
        rate = amount / time_s
        if count == "flops":
            add("flops_per_s", rate, "FLOP/s", "flops / time")
        elif count.endswith("_flops"):
            add(f"{count}_per_s", rate, "FLOP/s", f"{count} / time")
        elif count == "link_bytes":
            # What one rank must send already holds the busbw factor (nccl-tests, doc/PERFORMANCE.md).
            rank = (primary.scope if primary.count == count else None) or Scope.DEVICE
            formula = "link_bytes / time: what one rank must send"
            add("busbw_bytes_per_s", rate, "B/s", formula, scope=rank, direction=Direction.ONE_WAY)
        elif count == "payload_bytes":
            add("algbw_bytes_per_s", rate, "B/s", "payload_bytes / time: the collective's whole tensor")
        elif count == "tokens":
            add("tokens_per_s", rate, "token/s", "tokens / time: new ones of all sequences")
        elif count.endswith("_bytes"):
            add(f"{count}_per_s", rate, "B/s", f"{count} / time")
    if counts.get("flops") and counts.get("hbm_bytes"):
        add("flops_per_hbm_byte", counts["flops"] / counts["hbm_bytes"], "FLOP/B", "flops / hbm_bytes")
    add("latency_s", time_s, "s", "time of one repetition", better="lower")
    return metrics
