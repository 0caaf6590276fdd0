"""Section 3: a roofline of the whole system each, and one of a single core per generation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trnbench import Measurement, Record, Run, Scope
from trnbench_reports import numbers, view
from trnbench_reports.charts import figure, roofline
from trnbench_reports.charts.figure import Figure
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup


def render(runs: Sequence[Run]) -> Markup | str:
    """Nothing when no case did arithmetic on bytes of HBM."""
    parts = [
        (heading, [figure.show(figure_) for figure_ in _figures(index, run)])
        for index, run, heading in view.each_newest(runs)
    ]
    drawn = [part for part in parts if part[1]]
    return fill("rooflines", parts=drawn) if drawn else ""


def _figures(index: int, run: Run) -> list[Figure]:
    drawn: list[Figure] = []
    systems: list[Figure | None] = []
    cores: dict[tuple[object, ...], _Core] = {}
    for number, record in enumerate(view.systems(run)):
        mine = [each for each in run.measurements if each.case.instance == record.instance]
        cases = [each for each in mine if each.case.scope is record.scope]
        name = numbers.clean(record.instance, 60)
        colour = view.colour(run, record.generation)
        scope_words = f"whole system, {record.scope}"
        systems.append(
            roofline.figure(f"roof-{index}-{number}", _title(name, cases), index, cases, colour, scope_words)
        )
        core = [each for each in mine if each.case.scope is Scope.CORE]
        if not core:
            continue
        # One core is the same in every system of a generation, unless its numbers say otherwise.
        key = (record.generation, record.core, frozenset((c.case.fullname, c.time_s, c.status) for c in core))
        cores.setdefault(key, _Core(numbers.clean(record.core, 40), colour, core, [])).systems.append(name)
    for number, one in enumerate(cores.values()):
        title = _title(f"One {one.name}", one.cases)
        scope_words = f"one core of {numbers.listed(one.systems)}"
        chart = roofline.figure(f"core-{index}-{number}", title, index, one.cases, one.colour, scope_words)
        if chart is not None:
            drawn.append(chart)
    return drawn + [each for each in systems if each is not None]


class _Core(Record):
    """A core's cases, and the systems in which it gave the same numbers."""

    name: str
    colour: int
    cases: list[Measurement]
    systems: list[str]


def _title(name: str, cases: Sequence[Measurement]) -> str:
    """The finding: what the best arithmetic case reaches, and of what."""
    top = view.best(
        case
        for case in cases
        if case.judgement
        and case.judgement.peaks.chosen.metric == "peak_flops"
        and case.case.dtype in ("bf16", "fp16", "")
    )
    if top is None or top.judgement is None:
        return f"{name}: no 16-bit case was judged"
    grade = numbers.capital(str(top.evidence.grade))
    return (
        f"{name}. {grade}: {numbers.clean(top.case.kernel, 40)} {top.case.dtype} reaches "
        f"{numbers.percent(top.judgement.fraction)} of "
        f"{numbers.show(top.judgement.peaks.chosen.value, 'FLOP/s')}"
    )
