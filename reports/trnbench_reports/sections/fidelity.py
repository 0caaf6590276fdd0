"""Section 7: the model against published measurements, broken inequalities first, then worst first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from trnbench import Comparison, Fidelity, FidelityTable, Run, fidelity_told
from trnbench_reports import numbers, view
from trnbench_reports.charts import agreement, figure
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup

_UNITS = ("s", "B/s", "FLOP/s", "1")

Rows = list[tuple[str, ...]]


class Grid(msgspec.Struct, frozen=True):
    """A table of words: the first `left` columns are names, the others numbers. `summary`: it is folded."""

    heads: tuple[str, ...]
    rows: Rows
    left: int = 1
    summary: str = ""


class Part(msgspec.Struct, frozen=True):
    """What one run says of its model; texts stand above the table that follows them."""

    heading: str
    model: str
    broken: str
    bounds: Grid
    coverage: str
    families: Grid
    listed: tuple[str, ...]
    figures: tuple[Markup, ...]
    public: tuple[str, ...]
    disputed: Grid
    sequences: str
    steps: Grid
    moved: str
    movement: Grid
    movers: tuple[str, ...]
    undecided: tuple[str, ...]
    engines: str
    active: Grid
    notes: tuple[str, ...]


def render(runs: Sequence[Run]) -> Markup | str:
    """Nothing when no run carries a comparison."""
    parts = [
        part(index, run, run.fidelity, heading)
        for index, run, heading in view.each_run(runs)
        if run.fidelity is not None
    ]
    return fill("fidelity", parts=parts) if parts else ""


def part(index: int, run: Run, fidelity: Fidelity, heading: str = "") -> Part:
    """All of one run, as it is printed."""
    all_ = fidelity_told(fidelity, (*fidelity.families, *(kernel.row for kernel in fidelity.public)))
    return Part(
        heading=heading,
        model=all_.model,
        broken=all_.broken,
        bounds=_grid(all_.bounds, "Broken inequalities"),
        coverage=all_.coverage,
        families=_grid(all_.families),
        listed=all_.listed,
        figures=tuple(_figures(index, run, fidelity)),
        public=tuple(public(fidelity)),
        disputed=disputed(fidelity),
        sequences=all_.sequences,
        steps=_grid(all_.steps, "Pairs out of order, then steps to the next version"),
        moved=all_.moved,
        movement=_grid(all_.movement),
        movers=all_.movers,
        undecided=all_.undecided,
        engines=all_.engines,
        active=_grid(all_.active, "Engines, the worst first"),
        notes=fidelity.notes,
    )


def public(fidelity: Fidelity) -> list[str]:
    """When public kernels were run, and by which model."""
    makers = dict.fromkeys(
        (kernel.day, f"{kernel.by} {kernel.version}".strip()) for kernel in fidelity.public
    )
    return [f"Public kernels: run on {day} by {model}." for day, model in makers if day]


def disputed(fidelity: Fidelity) -> Grid:
    """Points that sources contradict: both values, the interval that counts, what stands against them."""
    rows: Rows = []
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
    return Grid(
        ("point", "published", "sources span", "emulated", "how, and against what", "source"),
        rows,
        summary="Points that sources contradict, counted against the interval they span",
    )


def _grid(table: FidelityTable, summary: str = "") -> Grid:
    """No line ends between a number and its unit."""
    rows = [tuple(cell.replace(" %", f"{numbers.NBSP}%") for cell in row) for row in table.rows]
    return Grid(table.heads, rows, table.left, summary)


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
