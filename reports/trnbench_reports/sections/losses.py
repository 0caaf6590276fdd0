"""Section 6: what lies between the peak and the result, for the kernels that matter, worst first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trnbench import Grade, Measurement, Run
from trnbench_reports import ladder, losses, numbers, view, words
from trnbench_reports.charts import engines, figure, waterfall
from trnbench_reports.losses import Losses
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup

SHOWN = 9
"""Kernels drawn, one of each family; the table beneath has all of them."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One kernel on one generation, at the best case of its sweep."""

    anchor: str
    kernel: str
    system: str
    point: str
    reached: str
    bound: str
    largest: str
    time: str
    grade: str


@dataclass(frozen=True, kw_only=True)
class Part:
    heading: str
    figures: list[tuple[str, list[Markup], str]]  # kernel, drawings, the command of its timeline
    rows: list[Row]
    left_out: int
    ladder: list[dict[str, Any]]


def render(runs: Sequence[Run]) -> Markup | str:
    """Nothing when no case says what was busy."""
    parts = [made for index, run, heading in view.each_run(runs) if (made := _part(index, run, heading))]
    steps = tuple(ladder.NAMES.values())
    return fill("losses", parts=parts, shown=SHOWN, steps=steps, beside=beside(runs)) if parts else ""


@dataclass(frozen=True, kw_only=True)
class Beside:
    """One engine of a case that was both profiled and emulated; seconds as text, "" for what one lacks."""

    anchor: str
    case: str
    engine: str
    profiled: str
    emulated: str
    ratio: str
    largest: str  # of the emulator's waterfall, told with the first engine


def beside(runs: Sequence[Run]) -> list[Beside]:
    """What a profiler counted of each engine, beside what the emulator says of the same case."""
    emulated = {
        each.id: told
        for run in runs
        for each in run.measurements
        if each.evidence.grade is Grade.EMULATED and (told := losses.of(each)) is not None
    }
    rows = []
    for index, run in enumerate(runs):
        for each in run.measurements:
            told, profiled = emulated.get(each.id), losses.profiled(each)
            if told is None or not profiled:
                continue
            model, worst = dict(told.busy), told.worst
            names = [*profiled, *(name for name in model if name not in profiled and name in losses.ENGINES)]
            for number, name in enumerate(names):
                seen, said = profiled.get(name), model.get(name)
                rows.append(
                    Beside(
                        anchor=view.anchor(index, each),
                        case=words.clean(each.id, 120),
                        engine=name,
                        profiled=numbers.show(seen, "s") if seen is not None else "",
                        emulated=numbers.show(said, "s") if said is not None else "",
                        ratio=numbers.significant(said / seen) if seen and said is not None else "",
                        largest=f"{words.clean(worst[0], 60)}, {numbers.show(worst[1], 's')}"
                        if worst is not None and not number
                        else "",
                    )
                )
    return rows


def chosen(run: Run) -> list[Losses]:
    """The best case of each kernel on each generation, the furthest from its peak first.

    One core where a kernel has such cases: what holds it back there holds it back everywhere, and
    sharing is another cause. Links and networks are the fabric's section.
    """
    groups: dict[tuple[str, str], list[Measurement]] = {}
    for each in run.measurements:
        linked = each.work.get("link_bytes") or each.work.get("network_bytes")
        if each.status in view.GOOD and each.judgement and not linked and losses.of(each) is not None:
            groups.setdefault((each.case.kernel, each.case.generation), []).append(each)
    found = []
    for cases in groups.values():
        nearest = min(each.case.scope.rank for each in cases)
        best = view.best(each for each in cases if each.case.scope.rank == nearest)
        told = losses.of(best) if best is not None else None
        if told is not None:
            found.append(told)
    return sorted(found, key=lambda each: (_fraction(each), each.case.id))


def drawn(found: Sequence[Losses]) -> list[Losses]:
    """One kernel of each family on one generation, the worst; those with a waterfall before those without.

    A family that has a kernel of its own name is shown by that one: the others are steps to it or
    special cases of it.
    """
    names = {each.case.case.kernel for each in found}
    kept: dict[str, Losses] = {}
    for each in sorted(found, key=lambda each: not each.terms):
        case = each.case.case
        if case.family not in names or case.kernel == case.family:
            kept.setdefault(case.family, each)
    return sorted(kept.values(), key=lambda each: (not each.terms, _fraction(each)))[:SHOWN]


def _part(index: int, run: Run, heading: str) -> Part | None:
    found = chosen(run)
    if not found:
        return None
    figures = []
    for number, each in enumerate(drawn(found)):
        colour = view.colour(run, each.case.case.generation)
        anchor = view.anchor(index, each.case)
        pictures = []
        if each.terms:
            pictures.append(figure.show(waterfall.draw(f"loss-{index}-{number}", each, colour, anchor)))
        if each.busy:
            pictures.append(figure.show(engines.draw(f"busy-{index}-{number}", each, colour, anchor)))
        figures.append((waterfall.heading(each), pictures, each.command))
    return Part(
        heading=heading,
        figures=figures,
        rows=[_row(index, each) for each in found],
        left_out=len({each.case.case.kernel for each in found}) - len(figures),
        ladder=[_rung(index, each) for each in ladder.rungs(run)],
    )


def _rung(index: int, rung: ladder.Rung) -> dict[str, Any]:
    """A row of the table: what each step reaches of the peak, and how much faster the last one is."""
    first = rung.first
    return {
        "kernel": rung.kernel,
        "system": first.case.instance,
        "anchor": view.anchor(index, rung.cases[-1] or first),
        "point": view.point_text(first),
        "grade": str(first.evidence.grade),
        "steps": [
            (
                view.anchor(index, each),
                numbers.percent(each.judgement.fraction) if each.judgement else view.value_text(each),
                min(each.judgement.fraction, 1.0) if each.judgement else 0.0,
            )
            for each in rung.cases
            if each is not None
        ],
        "gain": numbers.times(rung.gain) if rung.gain is not None else "",
    }


def _fraction(each: Losses) -> float:
    return each.case.judgement.fraction if each.case.judgement else 1.0


def _row(index: int, each: Losses) -> Row:
    case = each.case
    worst = each.worst
    if worst is not None:
        largest = f"{words.clean(worst[0], 40)}, {numbers.percent(worst[1] / each.time_s)}"
    else:
        name, seconds = max(each.busy, key=lambda entry: entry[1])
        largest = f"{words.clean(name, 40)} busy {numbers.percent(seconds / each.time_s)}"
    return Row(
        anchor=view.anchor(index, case),
        kernel=case.case.kernel,
        system=case.case.instance,
        point=view.point_text(case),
        reached=numbers.percent(_fraction(each)),
        bound=case.bound,
        largest=largest,
        time=numbers.show(each.time_s, "s"),
        grade=str(case.evidence.grade),
    )
