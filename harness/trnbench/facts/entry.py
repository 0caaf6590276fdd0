"""One row of a fact file made into a `Fact`, with every rule a fact has to keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trnbench.errors import FactError, UnitError
from trnbench.facts.fact import Assumption, Fact, Provenance
from trnbench.facts.metric import DTYPES, MetricKind, metric
from trnbench.facts.number import read_number
from trnbench.facts.scope import Direction, Scope
from trnbench.facts.table import Place
from trnbench.facts.units import DIMENSIONS, Unit, normalise, parse_unit

FACT_KEYS: dict[str, type] = {
    "subject": str,
    "metric": str,
    "printed": str,
    "unit": str,
    "scope": str,
    "source": str,
    "locator": str,
    "dtypes": list,
    "sparse": bool,
    "direction": str,
    "qualifier": str,
    "limit": str,
    "provenance": str,
    "formula": str,
    "superseded_by": str,
    "part": str,
    "note": str,
}
ASSUMPTION_KEYS: dict[str, type] = dict.fromkeys(
    ("id", "subject", "metric", "printed", "unit", "low", "high", "reason"), str
)
LIMITS = ("", "up-to", "over")


def merge(group: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with what its group says for all; the locator is appended, everything else overridden.

    A row that names another source has a locator of its own: the group's is a place in another document.
    """
    shared = {key: value for key, value in group.items() if key != "facts"}
    if row.get("source", shared.get("source")) != shared.get("source"):
        shared.pop("locator", None)
    merged = {**shared, **row}
    if shared.get("locator") and row.get("locator"):
        merged["locator"] = f"{shared['locator']}, {row['locator']}"
    return merged


def read_fact(place: Place, row: Mapping[str, Any]) -> Fact:
    """Raises `FactError` or `UnitError`, naming the place."""
    place.check(row, FACT_KEYS, ("subject", "metric", "printed", "scope", "source", "locator"))
    kind = _metric(place, row)
    scope = Scope(place.word(row, "scope", Scope))
    dtypes = tuple(row.get("dtypes", ()))
    for dtype in dtypes:
        place.word({"dtype": dtype}, "dtype", DTYPES)
    value: float | None = None
    limit = ""
    if kind.dimension != "text":
        place.check(row, FACT_KEYS, ("dtypes",) if kind.by_dtype else ())
        if "unit" not in row and kind.dimension not in ("count", "ratio"):
            place.check(row, FACT_KEYS, ("unit",))
        value, limit = _value(place, row, kind, scope)
    elif row.get("unit"):
        raise UnitError(
            f"{place}: {kind.name} has no unit, unit is {row['unit']!r}",
            cause=f"{kind.name} ({kind.about}) holds words",
            try_="leave unit out, or take a metric with a number",
        )
    return Fact(
        subject=row["subject"],
        metric=kind.name,
        printed=row["printed"],
        printed_unit=row.get("unit", ""),
        value=value,
        scope=scope,
        source=row["source"],
        locator=row["locator"],
        dtypes=dtypes,
        sparse=row.get("sparse", False),
        direction=_direction(place, row, kind),
        qualifier=row.get("qualifier", ""),
        limit=limit,
        provenance=Provenance(place.word({"provenance": "documented", **row}, "provenance", Provenance)),
        formula=row.get("formula", ""),
        superseded_by=row.get("superseded_by", ""),
        part=row.get("part", ""),
        note=row.get("note", ""),
    )


def read_assumption(place: Place, row: Mapping[str, Any]) -> Assumption:
    """Raises `FactError` or `UnitError`, naming the place."""
    place.check(row, ASSUMPTION_KEYS, ("id", "metric", "printed", "low", "high", "reason"))
    kind = _metric(place, row)
    if kind.dimension == "text":
        raise place.error(
            f"metric {kind.name!r} holds words", cause="an assumption is a number with its range"
        )
    unit = _unit(place, row, kind)
    value, low, high = (
        _guard(place, lambda key=key: normalise(row[key], unit.spelling)[0])
        for key in ("printed", "low", "high")
    )
    if not low <= value <= high:
        low_high = f"{row['low']} to {row['high']} {unit.spelling}".rstrip()
        raise place.error(
            f"{row['printed']} is outside its own range {low_high}",
            cause="low and high bound what is plausible, in the unit of printed",
        )
    return Assumption(
        id=row["id"],
        metric=kind.name,
        printed=row["printed"],
        printed_unit=row.get("unit", ""),
        value=value,
        low=low,
        high=high,
        reason=row["reason"],
        subject=row.get("subject", ""),
    )


def _metric(place: Place, row: Mapping[str, Any]) -> MetricKind:
    try:
        return metric(row["metric"])
    except FactError as error:
        raise place.error(error.what, cause=error.cause, try_=error.try_) from None


def _unit(place: Place, row: Mapping[str, Any], kind: MetricKind) -> Unit:
    try:
        unit = parse_unit(row.get("unit", ""))
    except UnitError as error:
        raise UnitError(f"{place}: {error.what}", cause=error.cause, try_=error.try_) from None
    bare = unit.dimension == "count" and kind.dimension == "ratio"
    if unit.dimension != kind.dimension and not bare:
        raise UnitError(
            f"{place}: {kind.name} cannot be in {unit.spelling or 'a bare number'}",
            cause=f"{kind.name} ({kind.about}) is {DIMENSIONS[kind.dimension]}, "
            f"not {DIMENSIONS[unit.dimension]}",
            try_='unit = ""' if kind.unit == "1" else f"a unit that leads to {kind.unit}, or another metric",
        )
    return unit


def _value(place: Place, row: Mapping[str, Any], kind: MetricKind, scope: Scope) -> tuple[float, str]:
    unit = _unit(place, row, kind)
    if unit.per is not None and unit.per is not scope:
        raise UnitError(
            f"{place}: {unit.spelling} is per {unit.per}, the fact's scope is {scope}",
            cause="a figure per part and a figure of the whole are not mixed",
            try_=f'scope = "{unit.per}"',
        )
    whole = [dtype for dtype in row.get("dtypes", ()) if dtype == "int8"]
    if kind.dimension == "flops" and whole and not unit.integer:
        raise UnitError(
            f"{place}: int8 in {unit.spelling}",
            cause="integer operations are no floating-point operations",
            try_='a fact of its own for dtypes = ["int8"], with unit = "TOPS"',
        )
    number = _guard(place, lambda: read_number(row["printed"]))
    value, _ = normalise(row["printed"], unit.spelling)
    stated = place.word({"limit": "", **row}, "limit", LIMITS)
    if stated and number.limit and stated != number.limit:
        raise place.error(f"limit is {stated!r}, printed says {number.limit!r}: {row['printed']!r}")
    return value, stated or number.limit


def _direction(place: Place, row: Mapping[str, Any], kind: MetricKind) -> Direction:
    given = Direction(place.word({"direction": "", **row}, "direction", Direction))
    if given is not Direction.NONE and not kind.directional:
        raise UnitError(
            f"{place}: {kind.name} has no direction, direction is {given.value!r}",
            cause=f"{kind.name} is {kind.about}",
            try_="leave direction out",
        )
    if kind.directional and given is Direction.NONE:
        return Direction.UNSTATED
    return given


def _guard(place: Place, read: Any) -> Any:
    try:
        return read()
    except UnitError as error:
        raise UnitError(f"{place}: {error.what}", cause=error.cause, try_=error.try_) from None
