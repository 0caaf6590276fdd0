"""Errors of many points as a few numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from trnbench.fidelity.family import Family
from trnbench.results.fidelity import COUNTED, Comparison, Errors, FamilyFidelity, Use
from trnbench.results.statistics import median, quantile


def relative_error(predicted: float, published: float) -> float:
    """predicted / published − 1. Raises `ValueError` unless the published value is above zero."""
    if not published > 0:
        raise ValueError(f"a published value is above zero, not {published!r}")
    return predicted / published - 1.0


def slower(error: float, *, lower_is_better: bool) -> float:
    """The error of the time: of a rate the reciprocal's, so that + always means a slower model.

    Raises `ValueError` for a rate of zero (an error of −1), whose time has no end.
    """
    if lower_is_better:
        return error
    if error <= -1.0:
        raise ValueError("a rate of zero has no time")
    return 1.0 / (1.0 + error) - 1.0


def summarise(errors: Sequence[tuple[str, float, float]]) -> Errors | None:
    """Of (id, error, slower): None where there is none. p90 as in `results.statistics.quantile`."""
    if not errors:
        return None
    sizes = [abs(error) for _, error, _ in errors]
    worst_id, worst, _ = max(errors, key=lambda each: (abs(each[1]), each[0]))
    return Errors(
        count=len(errors),
        median=median(sizes),
        p90=quantile(sizes, 0.9),
        worst=abs(worst),
        worst_id=worst_id,
        bias=median([each for _, _, each in errors]),
    )


def of_family(family: Family, comparisons: Iterable[Comparison]) -> FamilyFidelity:
    """Both statistics of one family; points not counted only appear in `uses`."""
    mine = [each for each in comparisons if each.family == family.name]
    counted = [each for each in mine if each.use in COUNTED]
    as_is, crossed = [], []
    for each in counted:
        if each.error is not None and each.slower is not None:
            as_is.append((each.id, each.error, each.slower))
        if each.cross_validated is not None and each.published is not None:
            error = relative_error(each.cross_validated, each.published)
            crossed.append((each.id, error, slower(error, lower_is_better=each.unit == "s")))
    uses = {str(use): sum(each.use is use for each in mine) for use in Use}
    return FamilyFidelity(
        name=family.name,
        title=family.title,
        in_sample=uses[str(Use.IN_SAMPLE)],
        errors=summarise(as_is),
        cross_validated=summarise(crossed),
        bounds_held=sum(each.held is True for each in mine),
        uses={use: count for use, count in uses.items() if count},
    )


def worst_first(families: Iterable[FamilyFidelity]) -> tuple[FamilyFidelity, ...]:
    """By median error, the largest first; families without one behind, as they came."""
    return tuple(sorted(families, key=lambda each: -(each.errors.median if each.errors else -1.0)))


def log_error(slower: float) -> float:
    """e = ln(model time / published time) of an error of the time. Raises `ValueError` at or below −1."""
    if slower <= -1.0:
        raise ValueError("a time is above zero")
    return math.log1p(slower)
