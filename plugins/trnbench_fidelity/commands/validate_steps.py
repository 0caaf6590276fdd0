"""`trnbench validate --family workloads`: how far composed steps are from published ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trnbench.errors import ExitCode, NothingSelected, UsageError
from trnbench.results.expectation import signed_text
from trnbench.results.fidelity import Errors
from trnbench.terminal.cell import Column
from trnbench.terminal.output import emit, paragraph, say, write
from trnbench_fidelity.commands import fidelity_gates
from trnbench_fidelity.commands.fidelity_gates import Gates
from trnbench_fidelity.commands.fidelity_tables import emit_cells, fields_of, seconds
from trnbench_fidelity.steps import validate
from trnbench_fidelity.steps.errors import (
    HEADS,
    StepFidelity,
    StepRow,
    broken,
    cells,
    coverage,
    few,
    markdown,
)

if TYPE_CHECKING:
    from trnbench import Session


_KEEP = {
    "generation": 3,
    "left out: median": 3,
    "left out: p90": 2,
    "models, points": 2,
    "inside the band": 1,
}


def refuse(options: Sequence[str]) -> None:
    """Raises `UsageError` for options that speak of kernels."""
    if options:
        raise UsageError(
            f"--family workloads does not go with {', '.join(options)}",
            cause="it compares steps of whole models, which have neither sources of kernels nor sequences",
            try_="trnbench validate --family workloads points",
        )


def validate_steps(
    state: Session,
    generations: Sequence[str],
    systems: frozenset[str],
    points: bool,
    gates: Gates,
    format: str,
) -> ExitCode:
    """Compose what is published, from the cache where nothing has changed, and print how far it is off."""
    registry = state.registry
    say("composing published steps: a minute or two where they are not in the cache", level=1)
    kept = validate.answered(registry, generations, state.cache())
    comparisons = validate.compared(registry, kept, systems)
    if not comparisons.points:
        raise NothingSelected(
            "no published step is selected",
            cause="the options exclude every point, or no generation brings any",
            try_="trnbench validate --family workloads points: all there are",
        )
    if points:
        emit([fields_of(point) for point in comparisons.points], _POINTS, format)
    else:
        _show(comparisons, format)
    return fidelity_gates.judge_steps(comparisons, gates)


def _show(found: StepFidelity, format: str) -> None:
    if format == "md":
        write(markdown(found))
    elif format == "table":
        paragraph(broken(found.points))
        write("\n")
        paragraph(coverage(found))
        emit_cells(HEADS, map(cells, found.rows), 2, _KEEP)
        write("\nClasses of under five models, point by point, left out:\n")
        for each in few(found.rows):
            paragraph(each)
        say(f"model: {found.by} {found.version}", level=0)
    else:
        rows = [_row(row) for row in found.rows]
        emit(rows, tuple(rows[0]), format)


def _row(row: StepRow) -> dict[str, object]:
    """Errors are natural logarithms of times."""
    return {
        "class": row.family,
        "generation": row.generation,
        **_errors("left_out", row.crossed),
        **_errors("fitted", row.errors),
        **_errors("naive", row.naive),
        "inside": row.inside,
        "banded": row.banded,
    }


def _errors(name: str, found: Errors | None) -> dict[str, object]:
    return {
        f"{name}_{key}": getattr(found, key) if found else None
        for key in ("votes", "points", "median", "p90", "bias", "worst", "worst_id")
    }


_POINTS: tuple[Column | str, ...] = (
    "id",
    Column("family", "class", keep=1),
    "generation",
    Column("published", "published", "right", seconds, keep=2),
    Column("model", "model", "right", seconds, keep=2),
    Column("floor", "at least", "right", seconds),
    Column("e", "error", "right", signed_text, keep=2),
    Column("e_cross", "left out", "right", signed_text, keep=3),
    Column("e_naive", "naive sum", "right", signed_text),
    Column("inside", "in its band"),
    Column("why", "not composed, because"),
)
