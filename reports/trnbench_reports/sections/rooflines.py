"""Section 3: a roofline of the whole system each, and one of a single core per generation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trnbench import Measurement, Run, Scope
from trnbench_reports import numbers, view, words
from trnbench_reports.charts import figure, roofline
from trnbench_reports.charts.figure import Figure
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup


def render(runs: Sequence[Run]) -> Markup | str:
    """Nothing when no case did arithmetic on bytes of HBM."""
    parts = [
        (heading, [figure.show(each) for each in _figures(index, run)])
        for index, run, heading in view.each_run(runs)
    ]
    if not any(figures for _, figures in parts):
        return ""
    return fill("rooflines", parts=parts)


def _figures(index: int, run: Run) -> list[Figure]:
    drawn: list[Figure] = []
    cores: dict[tuple[object, ...], list[str]] = {}
    whole: list[Figure | None] = []
    first: dict[tuple[object, ...], tuple[str, list[Measurement]]] = {}
    for number, record in enumerate(view.systems(run)):
        mine = [each for each in run.measurements if each.case.instance == record.instance]
        cases = [each for each in mine if each.case.scope is record.scope]
        name = words.clean(record.instance, 60)
        whole.append(
            roofline.figure(
                f"roof-{index}-{number}",
                _title(name, cases),
                index,
                cases,
                view.colour(run, record.generation),
                f"whole system, {record.scope}",
            )  # fmt: skip
        )
        core = [each for each in mine if each.case.scope is Scope.CORE]
        # One core is the same in every system of a generation, unless its numbers say otherwise.
        key = (record.generation, record.core, frozenset((c.case.fullname, c.time_s, c.status) for c in core))
        first.setdefault(key, (record.generation, core))
        cores.setdefault(key, []).append(name)
    for number, (key, names) in enumerate(cores.items()):
        generation, core = first[key]
        where = f"one {words.clean(key[1], 40)} of {words.listed(names)}"
        made = roofline.figure(f"core-{index}-{number}", _title(f"One {words.clean(key[1], 40)}", core), index,
                               core, view.colour(run, generation), where)  # fmt: skip
        if made is not None:
            drawn.append(made)
    return drawn + [each for each in whole if each is not None]


def _title(name: str, cases: Sequence[Measurement]) -> str:
    """The finding: what the best arithmetic case reaches, and of what."""
    top = view.best(
        c for c in cases
        if c.judgement and c.judgement.peaks.chosen.metric == "peak_flops" and c.case.dtype in ("bf16", "fp16", "")
    )  # fmt: skip
    if top is None or top.judgement is None:
        return f"{name}: no 16-bit case was judged"
    grade = words.capital(str(top.evidence.grade))
    return (
        f"{name}. {grade}: {words.clean(top.case.kernel, 40)} {top.case.dtype} reaches "
        f"{numbers.percent(top.judgement.fraction)} of "
        f"{numbers.show(top.judgement.peaks.chosen.value, 'FLOP/s')}"
    )
