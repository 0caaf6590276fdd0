"""`trnbench validate coverage`: whether bands keep their word on published points."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from trnbench.bounded import kinds
from trnbench.errors import ExitCode, NothingSelected, UnknownName, UsageError, quoted
from trnbench.results.fidelity import Fidelity
from trnbench.store.cache import Cache
from trnbench.terminal.output import emit, paragraph, write
from trnbench_fidelity.commands.fidelity_tables import emit_cells
from trnbench_fidelity.commands.validate_steps import TASKS, ended
from trnbench_fidelity.nearness import evidence_of
from trnbench_fidelity.nearness.bands import errors, shipped_ranges
from trnbench_fidelity.nearness.coverage import Coverage, Judged, judged
from trnbench_fidelity.snapshot import cached_validation
from trnbench_fidelity.steps.archive import StepArchive
from trnbench_fidelity.steps.nearness import known_steps
from trnbench_fidelity.steps.validate import answered, errors_of, judged_steps

if TYPE_CHECKING:
    from trnbench import Session
    from trnbench.registry import Registry


def refuse(options: Sequence[str], asked: str) -> None:
    """Raises `UsageError` for options that speak of something else than bands, which `asked` asks for."""
    if options:
        raise UsageError(
            f"{asked} does not go with {', '.join(options)}",
            cause="bands are judged by all published points, as the model is shipped",
            try_="trnbench validate coverage --generation trn2",
        )


def minima(texts: Sequence[str]) -> dict[str, float]:
    """Family → the least share, of `FAMILY=80%`; "all" of `80%`.

    Raises `UsageError` for what is no limit, `UnknownName` for another family.
    """
    from trnbench_fidelity.nearness.coverage import ALL
    from trnbench_fidelity.point import FAMILIES

    least: dict[str, float] = {}
    for text in texts:
        family, equals, number = text.rpartition("=")
        percent = kinds.PERCENT.parsed(number)
        if percent is None or (equals and not family):
            raise UsageError(
                f"--min-coverage {quoted(text)} is no limit",
                cause="it is a percentage, or a family, an equals sign and a percentage",
                try_="--min-coverage 80%",
            )
        if family and family not in (*FAMILIES, *TASKS):
            known = (*FAMILIES, *TASKS)
            raise UnknownName("family", family, known, try_="trnbench validate coverage: every family")
        least[family or ALL] = float(percent) / 100
    return least


def show_coverage(
    state: Session,
    families: Collection[str],
    generations: Collection[str],
    least: dict[str, float],
    format: str,
) -> ExitCode:
    """Judges every point, prints what `families` and `generations` select, and exits with 1 below a limit."""
    from trnbench_fidelity.nearness.coverage import coverage_rows

    points = [
        point
        for point in judged_points(state.registry, state.cache())
        if (not families or point.family in families) and (not generations or point.generation in generations)
    ]
    if not points:
        raise NothingSelected(
            "no point of the selection has a number of the model",
            cause="bands are judged by published points that the model answers",
            try_="trnbench validate coverage: every family",
        )
    rows = coverage_rows(points)
    _show(rows, format)
    return ended([text for family, share in least.items() for text in _below(rows, family, share)])


def _show(rows: Sequence[Coverage], format: str) -> None:
    from trnbench_fidelity.nearness.coverage import HEADS, cells, markdown, sentence

    if format == "md":
        write(markdown(rows))
    elif format == "table":
        paragraph(sentence(rows))
        emit_cells(HEADS, map(cells, rows), 3, dict.fromkeys(HEADS[1:], 2))
    else:
        from trnbench.results.json import plain

        emit([plain(row) for row in rows], rows[0].__struct_fields__, format)


def _below(rows: Iterable[Coverage], family: str, share: float) -> Iterable[str]:
    from trnbench_fidelity.nearness.coverage import ALL, UNSEEN

    wanted = (family, ALL, UNSEEN)
    row = next((row for row in rows if (row.family, row.generation, row.kind) == wanted), None)
    option = f"--min-coverage {'' if family == ALL else f'{family}='}{share * 100:g}%"
    if row is None or row.share is None:
        yield f"{option}: no point of it has a band, so nothing is shown"
    elif row.share < share - 1e-9:
        yield (
            f"{option}: {row.inside} of {row.rows} rows and {row.votes_inside:.1f} of {row.votes} votes lie "
            f"in their bands, {math.floor(row.share * 1000) / 10:g} %"
        )


def judged_points(registry: Registry, cache: Cache | None) -> list[Judged]:
    """Asks the model, from the cache where nothing has changed. Raises what `validate` raises."""
    return judged_of(
        registry, cached_validation(registry, cache, with_same=False), answered(registry, (), cache)
    )


def judged_of(registry: Registry, fidelity: Fidelity, steps: dict[str, StepArchive]) -> list[Judged]:
    """Of a comparison that has just been made, and the answers to published steps."""
    family = {point.id: point.family for point in fidelity.points}
    ranges = {
        id: ends
        for generation in registry.generations.values()
        for id, ends in shipped_ranges(generation).points.items()
    }
    points = list(judged(evidence_of(registry), errors(fidelity), family, ranges))
    return points + list(judged_steps(known_steps(registry), errors_of(registry, steps), steps))
