"""Errors of many points as a few numbers: of the time, in logarithms, one vote per kernel."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from trnbench.record import grouped
from trnbench.results.fidelity import Bounds, Comparison, Errors, FamilyFidelity, Honesty, Span, Use
from trnbench.results.statistics import bootstrap, median, quantile

if TYPE_CHECKING:
    from trnbench_fidelity.point import Family

FEWEST = 5
"""Votes below which there is no p90 and no interval: the points are listed."""


def time_error(model: float, published: float, *, lower_is_better: bool) -> float:
    """e = ln(model time / published time); of rates the reciprocals are compared.

    Raises `ValueError` unless both are above zero.
    """
    if not model > 0 or not published > 0:
        raise ValueError(f"a time or rate is above zero: {model!r} beside {published!r}")
    e = math.log(model / published)
    return e if lower_is_better else -e


def counted_error(point: Comparison) -> float | None:
    """What statistics count of a point, signed: e; of a bound 0 where it holds; of a contradicted point 0
    inside the interval that its sources span, else the distance to the nearer end. None without an answer."""
    if point.e is None:
        return None
    if point.use is Use.BOUND:
        return max(0.0, point.e)
    if point.span is None or point.emulated is None:
        return point.e
    ends = [time_error(point.emulated, end, lower_is_better=point.unit == "s") for end in point.span]
    if min(ends) <= 0 <= max(ends):
        return 0.0
    return min(ends, key=abs)


def of_votes(
    found: Iterable[tuple[str, str, float]], *, spans: bool = True, raw: Mapping[str, float] | None = None
) -> Errors | None:
    """Of (vote, id, e): None where there is none. A row that is there twice counts once; p90 as in
    `results.statistics.quantile`; intervals by bootstrap, the same for the same votes; none without
    `spans`. `raw`: id → e against what the point itself prints, where that is another."""
    rows = sorted(set(found))
    if not rows:
        return None
    votes = [[e for *_, e in mine] for mine in grouped(rows, lambda row: row[0]).values()]
    sizes = [sum(map(abs, each)) / len(each) for each in votes]
    _, worst_id, worst = max(rows, key=lambda row: (abs(row[2]), row[1]))
    few = len(sizes) < FEWEST
    printed = {id: (raw or {}).get(id, e) for _, id, e in rows}
    worst_raw_id = max(printed, key=lambda id: (abs(printed[id]), id))
    return Errors(
        votes=len(sizes),
        points=len(rows),
        median=median(sizes),
        bias=median([sum(each) / len(each) for each in votes]),
        worst=abs(worst),
        worst_id=worst_id,
        median_span=_span(sizes, 0.5) if spans and not few else None,
        p90=None if few else quantile(sizes, 0.9),
        p90_span=_span(sizes, 0.9) if spans and not few else None,
        p90_rows=quantile([abs(e) for _, _, e in rows], 0.9) if len(rows) >= FEWEST else None,
        worst_raw=abs(printed[worst_raw_id]),
        worst_raw_id=worst_raw_id,
        listed={id: e for _, id, e in sorted(rows, key=lambda row: row[1])} if few else {},
    )


def _span(sizes: Sequence[float], q: float) -> Span:
    interval = bootstrap(sizes, q=q)
    return Span(low=interval.low, high=interval.high)


def errors_of(points: Iterable[Comparison], honesty: Honesty | None = None) -> Errors | None:
    """Of the counted points, of one honesty unless None."""
    rows, raw = [], {}
    for point in points:
        e = counted_error(point)
        if point.counted and e is not None and point.e is not None and honesty in (None, point.honesty):
            rows.append((point.vote, point.id, e))
            raw[point.id] = point.e
    return of_votes(rows, raw=raw)


def crossed(points: Iterable[Comparison]) -> Errors | None:
    """Of the fitted points, each with every constant fitted without it, where the cost file says that."""
    return of_votes(
        (point.vote, point.id, point.e_cross)
        for point in points
        if point.counted and point.honesty == Honesty.FITTED and point.e_cross is not None
    )


def bounds_of(points: Iterable[Comparison]) -> Bounds | None:
    """The inequalities among the points; None where there is none that the model answers."""
    excesses = {
        point.id: e for point in points if point.use is Use.BOUND and (e := counted_error(point)) is not None
    }
    if not excesses:
        return None
    worst = max(excesses, key=lambda id: (excesses[id], id))
    broken = sum(e > 0 for e in excesses.values())
    return Bounds(
        count=len(excesses),
        broken=broken,
        worst=excesses[worst] if broken else 0.0,
        worst_id=worst if broken else "",
    )


def row_of(name: str, title: str, generation: str, points: Sequence[Comparison]) -> FamilyFidelity:
    """All statistics of these points under one name."""
    return FamilyFidelity(
        name=name,
        title=title,
        generation=generation,
        errors=errors_of(points),
        fitted=errors_of(points, Honesty.FITTED),
        cross_validated=crossed(points),
        shaped=errors_of(points, Honesty.SHAPED),
        untouched=errors_of(points, Honesty.UNTOUCHED),
        bounds=bounds_of(points),
        uses=uses_of(points),
    )


def uses_of(points: Iterable[Comparison]) -> dict[str, int]:
    """How many published points came to each use; our own kernels beside them are none."""
    mine = [point.use for point in points if point.use is not Use.SAME_OPERATION]
    return {str(use): mine.count(use) for use in Use if use in mine}


def rows_of(families: Mapping[str, Family], points: Iterable[Comparison]) -> tuple[FamilyFidelity, ...]:
    """One row per family and generation that has a point, worst first."""
    groups = grouped(points, lambda point: (point.family, point.generation))
    return worst_first(
        row_of(name, families[name].title if name in families else name, generation, mine)
        for (name, generation), mine in groups.items()
    )


def worst_first(families: Iterable[FamilyFidelity]) -> tuple[FamilyFidelity, ...]:
    """By median error, the largest first; families without one behind, as they came."""
    return tuple(sorted(families, key=lambda each: -(each.errors.median if each.errors else -1.0)))
