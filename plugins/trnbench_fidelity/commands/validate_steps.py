"""`trnbench validate --family workloads`: how far composed steps are from published ones; its gates."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from trnbench.bounded import kinds
from trnbench.errors import ExitCode, NothingSelected, UnknownName, UsageError, quoted
from trnbench.record import Record
from trnbench.results.expectation import signed_text, size_text
from trnbench.results.fidelity import Errors, FamilyFidelity, Fidelity
from trnbench.terminal.cell import Column
from trnbench.terminal.output import emit, paragraph, say, write
from trnbench_fidelity.commands.fidelity_tables import emit_cells, fields_of, seconds
from trnbench_fidelity.point import FAMILIES
from trnbench_fidelity.steps import validate
from trnbench_fidelity.steps.errors import (
    EVERYWHERE,
    HEADS,
    StepFidelity,
    StepRow,
    broken,
    cells,
    coverage,
    few,
    markdown,
)
from trnbench_fidelity.summary import broken_of

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
    return judge_steps(comparisons, gates)


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


PUBLIC = "public"
"""Stands for all public kernels of a generation, whatever their family."""


TASKS = ("decode", "prefill", "train")
"""Of steps of whole models: with --family workloads limits are of these, on all generations."""


class Limit(Record, kw_only=True):
    """`e`: the largest error allowed, as ln of a factor; `name` is that of the statistic."""

    name: str
    family: str
    e: float

    @property
    def option(self) -> str:
        return f"--max-{self.name} {self.family}"


class Gates(Record, kw_only=True):
    limits: tuple[Limit, ...] = ()
    broken: int | None = None


def parsed(medians: Sequence[str], p90s: Sequence[str], broken: int | None, *, steps: bool = False) -> Gates:
    """`steps`: limits are of tasks, of steps of whole models.

    Raises `UsageError` for what is no limit, `UnknownName` for another family.
    """
    known = TASKS if steps else (*FAMILIES, PUBLIC)
    limits = [_limit("median", median, known) for median in medians]
    limits += [_limit("p90", p90, known) for p90 in p90s]
    return Gates(limits=tuple(limits), broken=broken)


def _limit(name: str, text: str, known: Sequence[str]) -> Limit:
    family, equals, number = text.partition("=")
    percent = kinds.PERCENT.parsed(number)
    if not equals or percent is None:
        raise UsageError(
            f"--max-{name} {quoted(text)} is no limit",
            cause="it is a family, an equals sign and a percentage",
            try_=f"--max-{name} hbm=3%",
        )
    if family not in known:
        raise UnknownName("family", family, known, try_="trnbench validate: every family")
    return Limit(name=name, family=family, e=math.log1p(float(percent) / 100))


def judge(found: Fidelity, gates: Gates) -> ExitCode:
    """The limits of points."""
    failed = [text for limit in gates.limits for text in _over(found, limit)]
    if gates.broken is not None:
        bounds, broken = broken_of(found.points)
        if len(broken) > gates.broken:
            failed.append(
                f"--max-broken: {len(broken)} of {bounds} published inequalities are broken, "
                f"allowed are {gates.broken}"
            )
    return ended(failed)


def ended(failed: Sequence[str]) -> ExitCode:
    """Says which limits are not kept, each on a line of stderr."""
    for text in failed:
        say(f"error: {text}")
    return ExitCode.GATE if failed else ExitCode.OK


def judge_steps(found: StepFidelity, gates: Gates) -> ExitCode:
    """The same of steps: errors with the constants fitted without each model."""
    rows = {row.family: row.crossed for row in found.rows if row.generation == EVERYWHERE}
    return ended([text for limit in gates.limits for text in _beyond(limit, rows.get(limit.family), "all")])


def _over(found: Fidelity, limit: Limit) -> Iterator[str]:
    rows = [each for each in _rows(found, limit.family) if each.errors]
    if not rows:
        yield f"{limit.option}: no point of it is emulated, so nothing is shown"
    for row in rows:
        yield from _beyond(limit, row.errors, row.generation)


def _beyond(limit: Limit, errors: Errors | None, generation: str) -> Iterator[str]:
    if errors is None:
        yield f"{limit.option}: no point of it is emulated, so nothing is shown"
        return
    e = errors.median if limit.name == "median" else errors.p90
    what = "median error" if limit.name == "median" else "90th percentile"
    if e is None:
        yield f"{limit.option}: {generation} has {errors.votes} votes, a 90th percentile takes five"
    elif e > limit.e:
        allowed = size_text(limit.e)
        yield f"{limit.option}: the {what} of {generation} is {size_text(e)}, allowed are {allowed}"


def _rows(found: Fidelity, family: str) -> list[FamilyFidelity]:
    if family == PUBLIC:
        return [each.row for each in found.public]
    return [each for each in found.families if each.name == family]
