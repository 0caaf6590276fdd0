"""What holds kernels back: where the time goes, and every cause by what would go with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trnbench import Grade, Record, Run
from trnbench_reports import losses, numbers, opportunities, view
from trnbench_reports.charts import stack
from trnbench_reports.losses import LIMIT, Losses
from trnbench_reports.opportunities import Opportunity
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup

DRAWN = 5
"""Kernels with a bar, one of each family."""
SHOWN, FOLDED = 9, 24
"""Rows of the table, and of what is folded beneath it; smaller ones are counted."""
LANES = 4
"""Engines whose strips are drawn, in the order of the machine."""
_NAMED = 3
"""Causes that are named beside a bar."""


class Bar(Record, kw_only=True):
    """One kernel: its bar, its strips, and in words the causes, each with its share of the time.

    `parts` are the names of what the bar shows beside the work at the peak.
    """

    losses: Losses
    bar: Markup
    parts: list[str]
    causes: list[tuple[str, str]]
    strip: Markup | str
    busy: str

    @property
    def where(self) -> str:
        case = self.losses.case
        return f"{case.case.generation}, {view.point_text(case)}"

    @property
    def command(self) -> str:
        """What tells the time by source line where the run keeps none: from what writes the timeline."""
        command, trace, _ = self.losses.command.partition(" --trace ")
        return f"{command} --lines" if trace else ""


def render(runs: Sequence[Run]) -> Markup | str:
    """Nothing when no case says what was busy."""
    parts = [
        part_html
        for index, run, heading in view.each_newest(runs)
        if (part_html := _part(index, run, heading))
    ]
    steps = tuple(losses.NAMES.values())
    reached = opportunities.fraction
    return fill("losses", parts=parts, steps=steps, beside=beside(runs), reached=reached) if parts else ""


def _part(index: int, run: Run, heading: str) -> dict[str, Any] | None:
    chosen = opportunities.chosen(run)
    if not chosen:
        return None
    ranked = opportunities.of(chosen)
    bars = [bar(each) for each in drawn(chosen)]
    return {
        "index": index,
        "run": run,
        "heading": heading,
        "title": _title(ranked),
        "bars": bars,
        "legend": stack.legend(name for each in bars for name in each.parts),
        "rows": ranked[:SHOWN],
        "more": ranked[SHOWN : SHOWN + FOLDED],
        "smaller": max(0, len(ranked) - SHOWN - FOLDED),
        "passed": [each for each in chosen if opportunities.passed(each)],
        "beyond": [each for each in chosen if _is_beyond(each)],
        "ladder": losses.rungs(run),
    }


def _title(told: Sequence[Opportunity]) -> str:
    if not told:
        return "At its best each kernel is at its peak, or loses to no cause half a per cent of its time"
    first = told[0]
    return (
        f"The largest share of its time goes with {numbers.clean(first.cause, 60)} in "
        f"{numbers.clean(first.case.case.kernel, 40)} on {numbers.clean(first.case.case.generation, 30)}: "
        f"{numbers.percent(first.share)}, {numbers.show(first.seconds, 's')}"
    )


def drawn(found: Sequence[Losses]) -> list[Losses]:
    """One kernel of each family, the furthest from its peak; those with a waterfall first, probes last.

    A family that has a kernel of its own name is shown by that one: the others are steps to it or
    special cases of it.
    """
    names = {each.case.case.kernel for each in found}
    by_kernel: dict[str, Losses] = {}
    for each in sorted(found, key=lambda each: not each.terms):
        case = each.case.case
        if case.family not in names or case.kernel == case.family:
            by_kernel.setdefault(case.family, each)
    first = sorted(
        by_kernel.values(),
        key=lambda each: (
            not opportunities.useful(each.case, names),
            opportunities.passed(each),
            not each.terms,
            opportunities.fraction(each),
        ),
    )
    return first[:DRAWN]


def bar(each: Losses) -> Bar:
    """`each` as a bar with its causes in words."""
    ranked = sorted(opportunities.causes(each), key=lambda term: -term[1])
    if not each.terms:
        ranked = [("no waterfall is stored", max(0.0, 1 - opportunities.fraction(each)) * each.time_s)]
    at_peak = each.terms[0][0] if each.terms else "at the peak"
    parts = [(at_peak, each.time_s - sum(s for _, s in ranked)), *ranked[: stack.KINDS - 2]]
    remainder = sum(seconds for _, seconds in ranked[stack.KINDS - 2 :])
    if remainder > 0:
        parts.append(("the rest", remainder))
    busy = sorted(each.busy, key=lambda entry: -entry[1])
    lanes = [(name, shares) for name, shares in each.strip if any(shares)][:LANES]
    if not {name for name, _ in lanes} & {name for name, _ in busy[:2]}:
        lanes = []  # strips of what hardly works, beside words on what does, would say that nothing works
    names = ", ".join(numbers.clean(name, 24) for name, _ in lanes)
    busiest = ", ".join(f"{numbers.clean(n, 24)} {numbers.percent(s / each.time_s)}" for n, s in busy[:2])
    return Bar(
        losses=each,
        bar=stack.bar([(name, seconds / each.time_s) for name, seconds in parts], at_peak),
        parts=[name for name, seconds in parts[1:] if seconds > opportunities.LEAST * each.time_s],
        causes=[
            (_cause(name), numbers.percent(seconds / each.time_s))
            for name, seconds in ranked[:_NAMED]
            if seconds > opportunities.LEAST * each.time_s
        ],
        strip=stack.strip(lanes, f"when each engine was busy, from the top: {names}") if lanes else "",
        busy=busiest,
    )


def _cause(name: str) -> str:
    """What the largest causes are called: a limit of the model is what the engine can do, not a loss."""
    if name.startswith(LIMIT):
        return (
            f"beyond what {numbers.clean(name.removeprefix(LIMIT).removesuffix(' in the model'), 40)} can do"
        )
    return numbers.clean(name, 60)


def _is_beyond(each: Losses) -> bool:
    """Whether most of what is missing lies between the document and what the engine can do of this."""
    return bool(each.terms) and any(
        name.startswith(LIMIT) and seconds > 0.5 * (1 - opportunities.fraction(each)) * each.time_s
        for name, seconds in each.terms[1:]
        if seconds > 0 and not opportunities.passed(each)
    )


class Beside(Record, kw_only=True):
    """One engine of a case that was both profiled and emulated; seconds, None for what one lacks."""

    anchor: str
    case: str
    engine: str
    profiled: float | None
    emulated: float | None
    largest: tuple[str, float] | None  # of the emulator's waterfall, told with the first engine


def beside(runs: Sequence[Run]) -> list[Beside]:
    """What a profiler counted of each engine, beside what the emulator says of the same case."""
    counted = {
        measurement.id for run in runs for measurement in run.measurements if losses.profiled(measurement)
    }
    if not counted:
        return []
    emulated = {
        measurement.id: loss
        for run in runs
        for measurement in run.measurements
        if measurement.evidence.grade is Grade.EMULATED
        and measurement.id in counted
        and (loss := losses.of(measurement)) is not None
    }
    rows = []
    for index, run in enumerate(runs):
        for case in run.measurements:
            loss, profiled = emulated.get(case.id), losses.profiled(case)
            if loss is None or not profiled:
                continue
            model = dict(loss.busy)
            names = [*profiled, *(name for name in model if name not in profiled and name in losses.ENGINES)]
            for number, name in enumerate(names):
                rows.append(
                    Beside(
                        anchor=view.figure_of(index, case, view.BUSY),
                        case=case.id,
                        engine=name,
                        profiled=profiled.get(name),
                        emulated=model.get(name),
                        largest=None if number else loss.worst,
                    )
                )
    return rows
