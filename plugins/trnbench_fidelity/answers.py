"""The model's answers to published points that generations ship: a run takes them and need not ask.

What published points, facts and costs say themselves is read from there. `trnbench validate` takes none of
this: whoever works on the model asks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from trnbench.errors import BadInput
from trnbench.results.fidelity import Comparison, OwnProduct, Use
from trnbench.store.answers import Answers, answers_of, changed, files_of
from trnbench_fidelity.bench import Bench, fits_of
from trnbench_fidelity.inputs import lineage
from trnbench_fidelity.point import PublishedPoint
from trnbench_fidelity.published_points import compared, published_points, span_of

if TYPE_CHECKING:
    from trnbench.registry import Registry

COMPARISONS, PRODUCTS = "comparisons", "products"
"""Sections: point → row, and point → FLOP/s of our product of its shape."""

_NAMED = 3
"""Files that are named where several have changed."""


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the model said of a point, in the unit of its quantity. `e_cross` is left out where it is e."""

    use: Use = Use.EMULATED
    emulated: float | None = None
    e_cross: float | msgspec.UnsetType | None = msgspec.UNSET
    how: str = ""
    active: dict[str, float] = {}


def comparison_of(
    row: Row, point: PublishedPoint, points: Mapping[str, PublishedPoint], *, fitted: bool
) -> Comparison:
    """The comparison that the row was kept of, as published points say today."""
    whole = compared(point, row.use, row.emulated, how=row.how, fitted=fitted)
    return msgspec.structs.replace(
        whole,
        active=row.active,
        e_cross=whole.e if row.e_cross is msgspec.UNSET else row.e_cross,
        span=span_of(point, points) if row.use is Use.CONTRADICTED else None,
    )


def shipped_comparisons(registry: Registry, generations: Iterable[str]) -> dict[str, Comparison]:
    """By id, what `generations` ship and what holds; points without one are to be emulated."""
    comparisons: dict[str, Comparison] = {}
    for name in generations:
        try:
            answers = answers_of(registry.generations[name])
            rows = answers.section(COMPARISONS, dict[str, Row]) if answers is not None else None
        except BadInput:  # the model is asked
            continue
        if answers is None or not rows or outdated(registry, answers):
            continue
        points = {point.id: point for point in published_points(registry, (name,))[name]}
        costs = registry.costs(name)
        for id, row in rows.items():
            if id in points:
                fitted = row.emulated is not None and bool(fits_of(costs, points[id]))
                comparisons[id] = comparison_of(row, points[id], points, fitted=fitted)
    return comparisons


def shipped_products(registry: Registry, generation: str) -> tuple[tuple[OwnProduct, ...], str]:
    """Our products beside published ones as they are shipped, and why there are none.

    The reason is "" where there are some, or where the generation ships none.
    """
    try:
        answers = answers_of(registry.generations[generation])
        rates = answers.section(PRODUCTS, dict[str, float]) if answers is not None else None
    except BadInput as error:
        return (), f"{error.what}. {error.cause}"
    if answers is None or rates is None:
        return (), ""
    why = outdated(registry, answers)
    if why:
        return (), why
    from trnbench_fidelity.own_products import products_with

    return products_with(registry, generation, rates), ""


def outdated(registry: Registry, answers: Answers) -> str:
    """Why the answers do not hold any more; "" while model, facts, costs and points say what they did.

    The model's code is known by its version alone: a test of ours compares every shipped row with the model.
    """
    model = Bench(registry).model()
    if (answers.by, answers.version) != model:
        return f"Its answers are of {answers.by} {answers.version}, this run is of {' '.join(model)}"
    names = changed(answers.files, files_of(lineage(registry, answers.generation)))
    if not names:
        return ""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    have = "has" if len(names) == 1 else "have"
    return f"{', '.join(names[:_NAMED])}{more} {have} changed since it was timed"
