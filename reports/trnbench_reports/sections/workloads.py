"""Steps of whole models: how long on each system, how sure is that, and what limits it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trnbench import Measurement, Run, Status, expected_time, least_time, stored_waterfall
from trnbench_reports import numbers, view
from trnbench_reports.charts import stack
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup

FAMILY = "workload"
"""Of cases that are a step of a model."""
SHOWN = 16
"""Steps on the page; the command lists all."""


def render(runs: Sequence[Run]) -> Markup | str:
    """Nothing of runs without a step."""
    parts = []
    for index, run, heading in view.each_run(runs):
        steps = [each for each in run.measurements if each.case.family == FAMILY]
        # What ran comes first, and of one step the quickest system.
        steps.sort(key=lambda each: (each.time_s is None, view.point_text(each), each.time_s or 0.0))
        if steps:
            shown = steps[:SHOWN]
            parts.append(
                {
                    "index": index,
                    "run": run,
                    "heading": heading,
                    "steps": shown,
                    "left_out": len(steps) - len(shown),
                    "legend": stack.legend((name for step in shown for name, _ in shares(step)), work=False),
                }
            )
    return (
        fill("workloads", parts=parts, why=_why, expect=_expect, shares=shares, bar=stack.bar)
        if parts
        else ""
    )


def _why(case: Measurement) -> str:
    """Why the step did not run; "" where it did."""
    if case.time_s is not None and case.status in view.GOOD:
        return ""
    why = case.reason_text or str(case.reason) or "no reason was recorded"
    return f"{case.status}: {numbers.clean(why, 200)}" if case.status is not Status.OK else "no time"


def _expect(case: Measurement) -> str:
    """`8.07–12.9 ms`, "" without a band."""
    band = expected_time(case.evidence, case.time_s, least_time(case))
    return view.ranged(*(numbers.show(each, "s") for each in band)) if band is not None else ""


def shares(case: Measurement) -> list[tuple[str, float]]:
    """What the step's time is made of, (name, share of it), the largest first: they add up to 1."""
    if not case.time_s:
        return []
    stored = [(name, seconds) for name, seconds in stored_waterfall(case) if seconds > 0]
    parts = stored or [(term.name, term.seconds) for term in case.parts if term.seconds > 0]
    return sorted(((name, seconds / case.time_s) for name, seconds in parts), key=lambda each: -each[1])
