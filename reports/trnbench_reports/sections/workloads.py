"""Steps of whole models: how long on each system, how sure is that, and what limits it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from trnbench import Measurement, Run, Status, expected_time, least_time, nearness_of, stored_waterfall
from trnbench_reports import numbers, view
from trnbench_reports.charts import stack
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup

FAMILY = "workload"
"""Of cases that are a step of a model."""
SHOWN = 16
"""Steps on the page; the command lists all."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One step on one system; texts are empty where it did not run, and `why` says so."""

    name: str
    point: str
    system: str
    colour: int
    time: str = ""
    letter: str = ""
    expect: str = ""
    near: str = ""
    rate: str = ""
    bar: Markup | str = ""
    limit: str = ""
    why: str = ""
    faint: bool = False
    address: str = ""
    expect_address: str = ""
    rate_address: str = ""
    loss_address: str = ""


def render(runs: Sequence[Run]) -> Markup | str:
    """Nothing of runs without a step."""
    parts = []
    for index, run, heading in view.each_run(runs):
        steps = [each for each in run.measurements if each.case.family == FAMILY]
        # What ran comes first, and of one step the quickest system.
        steps.sort(key=lambda each: (each.time_s is None, view.point_text(each), each.time_s or 0.0))
        if steps:
            rows = [row(index, run, each) for each in steps[:SHOWN]]
            names = (name for step in steps[:SHOWN] for name, _ in _parts(step))
            parts.append(
                {
                    "heading": heading,
                    "rows": rows,
                    "left_out": len(steps) - len(rows),
                    "legend": stack.legend(names, work=False),
                }
            )
    return fill("workloads", parts=parts) if parts else ""


def row(index: int, run: Run, case: Measurement) -> Row:
    """`case` is a step of a model."""
    name, point = case.case.kernel, view.point_text(case)
    system, colour = numbers.clean(case.case.instance, 60), view.colour(run, case.case.generation)
    if case.time_s is None or case.status not in view.GOOD:
        why = case.reason_text or str(case.reason) or "no reason was recorded"
        return Row(
            name=name,
            point=point,
            system=system,
            colour=colour,
            why=f"{case.status}: {numbers.clean(why, 200)}" if case.status is not Status.OK else "no time",
            address=view.figure_of(index, case, view.TIME),
        )
    band = expected_time(case.evidence, case.time_s, least_time(case))
    tokens = case.metrics.get("tokens_per_s")
    parts = sorted(_parts(case), key=lambda each: -each[1])
    return Row(
        name=name,
        point=point,
        system=system,
        colour=colour,
        time=numbers.show(case.time_s, "s"),
        letter=case.evidence.grade.letter,
        expect=view.ranged(*(numbers.show(each, "s") for each in band)) if band is not None else "",
        near=nearness_of(case),
        rate=f"{numbers.significant(tokens.value)} tokens/s" if tokens is not None else "",
        bar=stack.bar([(name, seconds / case.time_s) for name, seconds in parts]) if parts else "",
        limit=f"{numbers.clean(parts[0][0], 60)} {numbers.percent(parts[0][1] / case.time_s)}"
        if parts
        else "",
        faint=view.faint(case),
        address=view.figure_of(index, case, view.TIME),
        expect_address=view.figure_of(index, case, view.EXPECT),
        rate_address=view.figure_of(index, case, "tokens_per_s"),
        loss_address=view.figure_of(index, case, view.LOSS),
    )


def _parts(case: Measurement) -> list[tuple[str, float]]:
    """What the step's time is made of, (name, seconds): they add up to it."""
    stored = [(name, seconds) for name, seconds in stored_waterfall(case) if seconds > 0]
    return stored or [(term.name, term.seconds) for term in case.parts if term.seconds > 0]
