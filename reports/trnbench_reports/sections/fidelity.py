"""Section 7: the model against published measurements, worst family first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trnbench import Comparison, FamilyFidelity, Fidelity, Run
from trnbench_reports import numbers, view
from trnbench_reports.charts import agreement, figure
from trnbench_reports.charts.agreement import error_text
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup

    from trnbench.results.fidelity import Errors

COUNTED = ("held out", "in-sample")
_UNITS = ("s", "B/s", "FLOP/s", "1")


@dataclass(frozen=True)
class Line:
    """One family: its statistics as they are printed, in-sample and cross-validated."""

    title: str
    points: int
    in_sample: int
    cells: tuple[str, ...]
    crossed_points: int
    crossed: tuple[str, ...]
    worst_id: str
    apart: str


@dataclass(frozen=True)
class Public:
    """Public kernels of one generation, run from their own sources: what that gave, and when."""

    generation: str
    points: int
    cells: tuple[str, ...]
    worst_id: str
    bounds: str
    not_run: int
    model: str
    day: str


def render(runs: Sequence[Run]) -> Markup | str:
    """Nothing when no run carries a comparison."""
    parts = []
    for index, run, heading in view.each_run(runs):
        if run.fidelity is not None:
            drawn = _figures(index, run, run.fidelity)
            parts.append(
                (
                    heading,
                    run.fidelity,
                    lines(run.fidelity),
                    drawn,
                    disputed(run.fidelity),
                    public(run.fidelity),
                )
            )
    return fill("fidelity", parts=parts) if parts else ""


def lines(fidelity: Fidelity) -> list[Line]:
    """Families with an emulated point, worst first."""
    found = [each for each in fidelity.families if each.errors is not None]
    found.sort(key=lambda each: -(each.errors.median if each.errors else 0.0))
    return [_line(each) for each in found]


def public(fidelity: Fidelity) -> list[Public]:
    """Worst generation first."""
    found = [each for each in fidelity.public if each.errors is not None]
    found.sort(key=lambda each: -(each.errors.median if each.errors else 0.0))
    return [
        Public(
            generation=each.generation,
            points=each.errors.count,
            cells=_cells(each.errors),
            worst_id=each.errors.worst_id,
            bounds=f"{each.bounds_held} of {each.bounds}" if each.bounds else "–",
            not_run=each.not_run,
            model=f"{each.by} {each.version}".strip(),
            day=each.day,
        )
        for each in found
        if each.errors is not None
    ]


def disputed(fidelity: Fidelity) -> list[tuple[str, str, str, str, str]]:
    """Points that other sources contradict: id, both values, what stands against them, source."""
    return [
        (
            each.id,
            numbers.show(each.published or 0.0, each.unit),
            numbers.show(each.emulated or 0.0, each.unit),
            each.how,
            each.source,
        )
        for each in fidelity.points
        if str(each.use) == "contradicted"
    ]


def _line(family: FamilyFidelity) -> Line:
    errors, crossed = family.errors, family.cross_validated
    assert errors is not None
    return Line(
        title=family.title,
        points=errors.count,
        in_sample=family.in_sample,
        cells=_cells(errors),
        crossed_points=crossed.count if crossed else 0,
        crossed=(_share(crossed.median), _share(crossed.p90)) if crossed else ("–", "–"),
        worst_id=errors.worst_id,
        apart=_apart(family),
    )


def _cells(errors: Errors) -> tuple[str, ...]:
    """Median, 90th percentile, worst and bias."""
    return (_share(errors.median), _share(errors.p90), _share(errors.worst), error_text(errors.bias))


def _share(error: float) -> str:
    return error_text(error).removeprefix("+")


def _apart(family: FamilyFidelity) -> str:
    """What of the family is not counted, in words."""
    counted = {use: count for use, count in family.uses.items() if use not in (*COUNTED, "bound")}
    parts = [f"{count} {use}" for use, count in counted.items()]
    if bounds := family.uses.get("bound"):
        parts.append(f"{family.bounds_held} of {bounds} bounds held")
    return ", ".join(parts)


def _figures(index: int, run: Run, fidelity: Fidelity) -> list[Markup]:
    titles = {each.name: each.title for each in fidelity.families}
    colours = {each.generation: view.colour(run, each.generation) for each in fidelity.points}
    drawn = []
    for number, unit in enumerate(_UNITS):
        mine = [each for each in _drawable(fidelity.points) if each.unit == unit]
        if mine:
            drawn.append(figure.show(agreement.draw(f"fit-{index}-{number}", unit, mine, titles, colours)))
    return drawn


def _drawable(points: Iterable[Comparison]) -> list[Comparison]:
    return [
        each
        for each in points
        if str(each.use) in COUNTED and (each.published or 0) > 0 and (each.emulated or 0) > 0
    ]
