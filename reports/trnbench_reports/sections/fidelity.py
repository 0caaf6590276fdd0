"""Section 7: the model against published measurements, broken inequalities first, then worst first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from trnbench import Comparison, Fidelity, FidelityTable, FidelityTold, Run, fidelity_told
from trnbench_reports import numbers, view
from trnbench_reports.charts import agreement, figure
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup

_UNITS = ("s", "B/s", "FLOP/s", "1")


def render(runs: Sequence[Run]) -> Markup | str:
    """Nothing when no run carries a comparison."""
    parts = [
        {
            "heading": heading,
            "told": told(run.fidelity),
            "public": public(run.fidelity),
            "figures": _figures(index, run, run.fidelity),
            "disputed": disputed(run.fidelity),
            "notes": run.fidelity.notes,
        }
        for index, run, heading in view.each_run(runs)
        if run.fidelity is not None
    ]
    return fill("fidelity", parts=parts) if parts else ""


def told(fidelity: Fidelity) -> FidelityTold:
    """What there is to say of one run's model; public kernels stand among the families."""
    return fidelity_told(fidelity, (*fidelity.families, *(kernel.row for kernel in fidelity.public)))


def public(fidelity: Fidelity) -> list[str]:
    """When public kernels were run, and by which model."""
    makers = dict.fromkeys(
        (kernel.day, f"{kernel.by} {kernel.version}".strip()) for kernel in fidelity.public
    )
    return [f"Public kernels: run on {day} by {model}." for day, model in makers if day]


def disputed(fidelity: Fidelity) -> FidelityTable:
    """Points that sources contradict: both values, the interval that counts, what stands against them."""
    rows = []
    for point in fidelity.points:
        if str(point.use) == "contradicted":
            ends = [numbers.show(value, point.unit) for value in point.span or ()]
            rows.append(
                (
                    point.id,
                    numbers.show(point.published or 0.0, point.unit),
                    " to ".join(ends) or "–",
                    numbers.show(point.emulated or 0.0, point.unit),
                    point.how,
                    point.source,
                )
            )
    return FidelityTable(
        ("point", "published", "sources span", "emulated", "how, and against what", "source"), tuple(rows)
    )


def _figures(index: int, run: Run, fidelity: Fidelity) -> list[Markup]:
    titles = {point.name: point.title for point in fidelity.families}
    colours = {point.generation: view.colour(run, point.generation) for point in fidelity.points}
    drawn = []
    for number, unit in enumerate(_UNITS):
        mine = [point for point in _drawable(fidelity.points) if point.unit == unit]
        if mine:
            drawn.append(figure.show(agreement.draw(f"fit-{index}-{number}", unit, mine, titles, colours)))
    return drawn


def _drawable(points: Iterable[Comparison]) -> list[Comparison]:
    return [
        point
        for point in points
        if point.counted and (point.published or 0) > 0 and (point.emulated or 0) > 0
    ]
