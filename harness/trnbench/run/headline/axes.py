"""What a sweep goes over, in words."""

from __future__ import annotations

from collections.abc import Sequence

from trnbench.facts.format import show
from trnbench.results.measurement import Measurement, Value

_BYTES = ("hbm", "dma", "copy", "link", "collective")
"""Families whose axis `size` counts bytes; elsewhere it is the side of a matrix."""
_NAMED = 3
"""Words of an axis that are listed; more are counted."""


def swept(cases: Sequence[Measurement], best: Measurement) -> tuple[str, str]:
    """(`size 128 to 16,384`, `16,384`): the axes that vary over `cases`, and where `best` stands; the point
    of the only case, and "", where none varies. Axes that always move together are one."""
    names = [name for name in best.case.point if name != "dtype"]
    columns = {name: tuple(each.case.point.get(name) for each in cases) for name in names}
    together: dict[tuple[Value | None, ...], list[str]] = {}
    for name, column in columns.items():
        together.setdefault(column, []).append(name)
    moving = {column: held for column, held in together.items() if len(set(column)) > 1}
    if not moving:
        return ", ".join(f"{'='.join(held)} {axis_text(best, held[0])}" for held in together.values()), ""
    over = [f"{'='.join(held)} {_range(column, best, held[0])}" for column, held in moving.items()]
    at = [axis_text(best, held[0]) for held in moving.values()]
    return ", ".join(over), ", ".join(at)


def _range(column: Sequence[Value | None], case: Measurement, name: str) -> str:
    numbers = [each for each in column if isinstance(each, int | float) and not isinstance(each, bool)]
    if len(numbers) == len(column):
        return f"{_shown(min(numbers), case, name)} to {_shown(max(numbers), case, name)}"
    kinds = list(dict.fromkeys(str(each) for each in column))
    return ", ".join(kinds) if len(kinds) <= _NAMED else f"{len(kinds)} kinds"


def axis_text(case: Measurement, name: str) -> str:
    """`1 GiB` or `4,096`: where the case stands on an axis, in words."""
    return _shown(case.case.point.get(name, ""), case, name)


def _shown(value: Value, case: Measurement, name: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if name == "size" and case.case.family in _BYTES and 0 <= value < 1e30:
        return show(float(value), "B")
    return f"{value:,}"
