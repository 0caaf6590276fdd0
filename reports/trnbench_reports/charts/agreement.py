"""Emulated against published on equal axes: the diagonal is agreement, bands are factors 1.10 and 1.25."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

from trnbench import Comparison
from trnbench_reports import numbers
from trnbench_reports.charts.figure import SYMBOLS, Figure, Plane, Series, logarithmic

BANDS = (0.25, 0.10)
SIDE = 360
"""Pixels; both axes are equal."""
_QUANTITY = {"s": "times", "B/s": "data rates", "FLOP/s": "rates of operations", "1": "shares"}


def draw(
    id: str, unit: str, points: Sequence[Comparison], titles: Mapping[str, str], colours: Mapping[str, int]
) -> Figure:
    """All `points` are of `unit` and have both values, above zero; there is at least one.

    `titles` names the families, `colours` gives each generation its colour of the page.
    """
    pairs = [(_positive(each.published), _positive(each.emulated), each) for each in points]
    values = [value for pair in pairs for value in pair[:2]]
    low, high = min(values) / 2, max(values) * 2
    families = list(dict.fromkeys(each.family for each in points))
    plane = Plane(
        logarithmic("published", low, high, unit),
        logarithmic("emulated", low, high, unit),
        width=SIDE,
        height=SIDE,
    )
    for share in BANDS:
        upper = [(end, end * (1 + share)) for end in (low, high)]
        plane.area([*upper, *((end, end / (1 + share)) for end in (high, low))], opacity=0.07)
    plane.line([(low, low), (high, high)], width=1, opacity=0.6)
    for published, emulated, point in pairs:
        index = families.index(point.family)
        plane.mark(
            published,
            emulated,
            colour=f"var(--g{colours.get(point.generation, 5)})",
            says=_tooltip(point, published, emulated),
            series=index,
            shape=index,
        )
    within = sum(each.e is not None and abs(each.e) <= log(1 + BANDS[0]) for each in points)
    quantity = _QUANTITY.get(unit, "values")
    counted = numbers.plural(len(points), "point")
    title = f"{counted} of {quantity}: {within} within a factor of 1.25 of the published value"
    return Figure(
        id=id,
        title=numbers.capital(title),
        caption="the diagonal is agreement, bands are factors 1.10 and 1.25; each generation has its colour",
        drawing=plane.svg(f"{title}. Emulated against published, logarithmic, equal axes."),
        series=tuple(
            Series(index=i, name=titles.get(name, name), symbol=SYMBOLS[i % len(SYMBOLS)])
            for i, name in enumerate(families)
        ),
        columns=_COLUMNS,
        rows=tuple(("", _row(*pair, unit, titles)) for pair in pairs),
    )


_COLUMNS = (
    "point", "family", "published", "emulated", "error of the time", "evidence", "seen by the model",
    "source",
)  # fmt: skip


def _row(
    published: float, emulated: float, point: Comparison, unit: str, titles: Mapping[str, str]
) -> tuple[str, ...]:
    """The cells of a point, by _COLUMNS."""
    return (
        point.id,
        titles.get(point.family, point.family),
        numbers.show(published, unit),
        numbers.show(emulated, unit),
        numbers.error(point.e),
        "published / emulated",
        _seen(point),
        point.source,
    )


def _seen(each: Comparison) -> str:
    """What the model has seen of the point, and whether its sources disagree."""
    seen = str(each.honesty) or "not recorded"
    return f"{seen}, contradicted" if str(each.use) == "contradicted" else seen


def _positive(value: float | None) -> float:
    assert value is not None
    return value


def _tooltip(each: Comparison, published: float, emulated: float) -> str:
    return numbers.clean(
        f"{each.id}: emulated {numbers.show(emulated, each.unit)}, published "
        f"{numbers.show(published, each.unit)}, {numbers.error(each.e)} · {_seen(each)}",
        300,
    )
