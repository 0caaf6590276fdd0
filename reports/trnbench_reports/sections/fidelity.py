"""Section 7: the model against published measurements, broken inequalities first, then worst first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trnbench import Comparison, Fidelity, Run
from trnbench.fidelity.broken import BROKEN, broken_cells, broken_of, broken_text
from trnbench.fidelity.coverage import coverage, of_rows
from trnbench.fidelity.movement import MOVED, moved_cells, moved_text
from trnbench.fidelity.sequence import STEPS, by_order, order_text, step_cells
from trnbench.fidelity.tables import HEADS, cells, few, shown
from trnbench.results.fidelity import COUNTED
from trnbench_reports import numbers, view
from trnbench_reports.charts import agreement, figure
from trnbench_reports.template import fill

if TYPE_CHECKING:
    from markupsafe import Markup

_UNITS = ("s", "B/s", "FLOP/s", "1")

Rows = list[tuple[str, ...]]


@dataclass(frozen=True)
class Grid:
    """A table of words: the first `left` columns are names, the others numbers. `summary`: it is folded."""

    heads: tuple[str, ...]
    rows: Rows
    left: int = 1
    summary: str = ""


@dataclass(frozen=True)
class Part:
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
    bounds, broken = broken_of(fidelity.points)
    rows = shown((*fidelity.families, *(each.row for each in fidelity.public)))
    moved = fidelity.moved if any(each.movers or each.unanswered for each in fidelity.moved) else ()
    return Part(
        heading=heading,
        model=f"{fidelity.by} {fidelity.version}".strip(),
        broken=broken_text(bounds, broken) if bounds else "",
        bounds=Grid(BROKEN, _unbroken(map(broken_cells, broken)), summary="Broken inequalities"),
        coverage=coverage(of_rows(fidelity.families)) if fidelity.families else "",
        families=Grid(HEADS, _unbroken(map(cells, rows)), left=2),
        listed=tuple(few(shown(fidelity.families))),
        figures=tuple(_figures(index, run, fidelity)),
        public=tuple(public(fidelity)),
        disputed=disputed(fidelity),
        sequences=f"Versions of one kernel: {order_text(fidelity.steps)}." if fidelity.steps else "",
        steps=Grid(
            STEPS, _unbroken(map(step_cells, by_order(fidelity.steps))), 2, "Steps, those out of order first"
        ),
        moved=moved_text(moved) if moved else "",
        movement=Grid(MOVED, _unbroken(map(moved_cells, moved)), left=2),
        notes=fidelity.notes,
    )


def public(fidelity: Fidelity) -> list[str]:
    """When public kernels were run, and by which model."""
    made = dict.fromkeys((each.day, f"{each.by} {each.version}".strip()) for each in fidelity.public)
    return [f"Public kernels: run on {day} by {model}." for day, model in made if day]


def disputed(fidelity: Fidelity) -> Grid:
    """Points that sources contradict: both values, the interval that counts, what stands against them."""
    rows: Rows = []
    for each in fidelity.points:
        if str(each.use) == "contradicted":
            ends = [numbers.show(value, each.unit) for value in each.span or ()]
            rows.append(
                (
                    each.id,
                    numbers.show(each.published or 0.0, each.unit),
                    " to ".join(ends) or "–",
                    numbers.show(each.emulated or 0.0, each.unit),
                    each.how,
                    each.source,
                )
            )
    return Grid(
        ("point", "published", "sources span", "emulated", "how, and against what", "source"),
        rows,
        summary="Points that sources contradict, counted against the interval they span",
    )


def _unbroken(rows: Iterable[Sequence[str]]) -> Rows:
    """No line ends between a number and its unit."""
    return [tuple(cell.replace(" %", f"{numbers.NBSP}%") for cell in row) for row in rows]


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
        if each.use in COUNTED and (each.published or 0) > 0 and (each.emulated or 0) > 0
    ]
