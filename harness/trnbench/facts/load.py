"""Fact and cost files: TOML in, checked values out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from trnbench.errors import FactError, UnitError
from trnbench.facts.disagreement import RULES
from trnbench.facts.fact import Assumption, Direction, Dispute, Fact, FactBook, Provenance, Scope, Source
from trnbench.facts.metric import DTYPES, METRICS, MetricKind, metric
from trnbench.facts.table import Place, near, read_toml
from trnbench.facts.units import DIMENSIONS, Unit, normalise, parse_unit, read_number

T = TypeVar("T")

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
_AS_STATED = ("sparse", "qualifier", "formula", "superseded_by", "part", "note")
ASSUMPTION_KEYS: dict[str, type] = dict.fromkeys(
    ("id", "subject", "metric", "printed", "unit", "low", "high", "reason"), str
)
LIMITS = ("", "up-to", "over")


def merge(group: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with what its group says for all; the locator is appended, everything else overridden.

    A row that names another source has a locator of its own: the group's is a place in another document.
    """
    shared = dict(group)
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
        direction=_direction(place, row, kind),
        limit=limit,
        provenance=Provenance(place.word({"provenance": "documented", **row}, "provenance", Provenance)),
        **{key: row[key] for key in _AS_STATED if key in row},
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
        _guard(place, partial(normalise, row[key], unit.spelling))[0] for key in ("printed", "low", "high")
    )
    _check_range(place, row, kind, value)
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
    unit = _guard(place, lambda: parse_unit(row.get("unit", "")))
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
    integers = [dtype for dtype in row.get("dtypes", ()) if dtype == "int8"]
    if kind.dimension == "flops" and integers and not unit.integer:
        raise UnitError(
            f"{place}: int8 in {unit.spelling}",
            cause="integer operations are no floating-point operations",
            try_='a fact of its own for dtypes = ["int8"], with unit = "TOPS"',
        )
    number = _guard(place, lambda: read_number(row["printed"]))
    value, _ = normalise(row["printed"], unit.spelling)
    _check_range(place, row, kind, value)
    stated = place.word({"limit": "", **row}, "limit", LIMITS)
    if stated and number.limit and stated != number.limit:
        raise place.error(f"limit is {stated!r}, printed says {number.limit!r}: {row['printed']!r}")
    return value, stated or number.limit


def _check_range(place: Place, row: Mapping[str, Any], kind: MetricKind, value: float) -> None:
    if wanted := kind.range(value):
        raise place.error(
            f"{kind.name} is {row['printed']!r}",
            cause=f"{kind.name} ({kind.about}) is {wanted}",
            try_="the number that the document prints, or leave it out where the machine has none",
        )


def _direction(place: Place, row: Mapping[str, Any], kind: MetricKind) -> Direction:
    direction = Direction(place.word({"direction": "", **row}, "direction", Direction))
    if direction is not Direction.NONE and not kind.directional:
        raise UnitError(
            f"{place}: {kind.name} has no direction, direction is {direction.value!r}",
            cause=f"{kind.name} is {kind.about}",
            try_="leave direction out",
        )
    if kind.directional and direction is Direction.NONE:
        return Direction.UNSTATED
    return direction


def _guard(place: Place, read: Callable[[], T]) -> T:
    """What `read` gives. Raises its `UnitError` with the place."""
    try:
        return read()
    except UnitError as error:
        raise UnitError(f"{place}: {error.what}", cause=error.cause, try_=error.try_) from None


SCHEMA = 1
# History: 1 first version.

_TOP = {
    "schema": int,
    "override": bool,
    "sources": dict,
    "group": list,
    "assumptions": list,
    "disputes": list,
}
_SOURCE = {"document": str, "version": str, "date": str, "path": str, "seed": bool, "note": str}
_DISPUTE = {
    "id": str,
    "topic": str,
    "values": list,
    "sources": list,
    "subjects": list,
    "rule": str,
    "metric": str,
    "note": str,
}


def load_book(paths: Iterable[Path]) -> FactBook:
    """The facts of all files as one book, in the order of the files.

    A file that states `override = true` is someone's own: its facts, and its assumptions, come
    first and replace those of the same id.

    Raises `MissingFile`, `BadInput` (no TOML) and `FactError` or `UnitError`, each naming file,
    entry, key and cause.
    """
    documents = []
    sources: dict[str, Source] = {}
    for path in map(Path, paths):
        document, table_place = read_toml(path), Place(path)
        _check_top(table_place, document)
        documents.append((table_place, document))
        for identifier, source in _sources(table_place, document):
            if sources.get(identifier, source) != source:
                raise table_place.at(f"[sources.{identifier}]").error(
                    "this id names another source in another file"
                )
            sources[identifier] = source
    own, common = _Entries(), _Entries()
    for table_place, document in documents:
        entries = own if document.get("override") else common
        for origin, fact in _facts(table_place, document, sources):
            entries.add("fact", origin, fact.id, fact)
        for origin, row in table_place.tables(document, "assumptions"):
            assumption = read_assumption(origin, row)
            entries.add("assumption", origin, assumption.id, assumption)
        for origin, dispute in _disputes(table_place, document, sources):
            entries.add("dispute", origin, dispute.id, dispute)
    return FactBook(
        sources=sources,
        facts=tuple((own.of("fact") | common.of("fact", but=own)).values()),
        assumptions=own.of("assumption") | common.of("assumption", but=own),
        disputes=tuple((common.of("dispute", but=own) | own.of("dispute")).values()),
    )


class _Entries:
    """What files of one standing hold; an id stands once."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[str, Any]] = {}
        self._places: dict[tuple[str, str], Place] = {}

    def add(self, kind: str, place: Place, identifier: str, value: Any) -> None:
        first = self._places.setdefault((kind, identifier), place)
        if first is not place:
            parts = (
                'part = "prose" where one document prints it in two places, a qualifier where two '
                "things are meant; " * (kind == "fact")
            )
            raise place.error(
                f"the same {kind} twice: {identifier}",
                cause=f"it is also {first.entry} of {first.file.name}",
                try_=f"{parts}override = true at the top of a file of one's own that replaces it",
            )
        self._kept.setdefault(kind, {})[identifier] = value

    def of(self, kind: str, but: _Entries | None = None) -> dict[str, Any]:
        inherited = but.of(kind) if but is not None else {}
        return {key: value for key, value in self._kept.get(kind, {}).items() if key not in inherited}


def load_costs(path: Path) -> dict[str, Any]:
    """A cost table as it stands in the file.

    Raises `MissingFile`, `BadInput` (no TOML, NaN), `FactError` for an unknown schema, or a number
    below zero or beyond all costs anywhere in it.
    """
    document, top = read_toml(Path(path)), Place(Path(path))
    if "schema" in document:
        _check_schema(top, document)
    top.numbers(document)
    return document


def _check_top(place: Place, document: Mapping[str, Any]) -> None:
    for key in document:
        if key not in _TOP:
            raise place.error(f"unknown table {key!r}", cause=near(key, _TOP))
    _check_schema(place, document)
    for key in ("sources", "override"):
        if key in document:
            place.check({key: document[key]}, {key: _TOP[key]})


def _check_schema(place: Place, document: Mapping[str, Any]) -> None:
    schema = document.get("schema")
    if schema is None:
        raise place.error("the schema is not stated", try_=f"schema = {SCHEMA} as the first line")
    if schema != SCHEMA or isinstance(schema, bool):
        raise place.error(
            f"schema {schema!r} is not known here",
            cause=f"this version reads schema {SCHEMA}",
            try_="a newer trnbench, if a newer one wrote the file",
        )


def _sources(place: Place, document: Mapping[str, Any]) -> Iterable[tuple[str, Source]]:
    for identifier, row in document.get("sources", {}).items():
        row_place = place.at(f"[sources.{identifier}]")
        row_place.check(row_place.table(row), _SOURCE, ("document",))
        yield identifier, Source(id=identifier, **row)


def _facts(
    place: Place, document: Mapping[str, Any], known: Mapping[str, Source]
) -> Iterable[tuple[Place, Fact]]:
    for row_place, group in place.tables(document, "group"):
        shared = {key: value for key, value in group.items() if key != "facts"}
        for key in shared:
            if key not in FACT_KEYS:
                raise row_place.error(f"unknown key {key!r}", cause=near(key, (*FACT_KEYS, "facts")))
        row_place.check(shared, FACT_KEYS)
        rows = group.get("facts")
        if not isinstance(rows, list) or not rows:
            raise row_place.error(
                "a group without a list of facts", try_="facts = [ {metric = …, printed = …}, … ]"
            )
        for number, row in enumerate(rows, 1):
            entry = row_place.at(f"fact {number}")
            fact = read_fact(entry, merge(shared, entry.table(row)))
            _check_source(entry, "source", fact.source, known)
            if fact.superseded_by:
                _check_source(entry, "superseded_by", fact.superseded_by, known)
            yield entry, fact


def _disputes(
    place: Place, document: Mapping[str, Any], known: Mapping[str, Source]
) -> Iterable[tuple[Place, Dispute]]:
    for row_place, row in place.tables(document, "disputes"):
        row_place.check(row, _DISPUTE, ("id", "topic", "values", "sources"))
        for source in row["sources"]:
            _check_source(row_place, "sources", source, known)
        for rule in row.get("rule", "").split(","):
            if rule.strip():
                row_place.word({"rule": rule.strip()}, "rule", RULES)
        if row.get("metric"):
            row_place.word(row, "metric", METRICS)
        lists: dict[str, Any] = {
            key: tuple(row[key]) for key in ("values", "sources", "subjects") if key in row
        }
        yield row_place, Dispute(**(row | lists))


def _check_source(place: Place, key: str, source: str, known: Mapping[str, Source]) -> None:
    if source not in known:
        raise place.error(
            f"{key!r} names the unknown source {source!r}",
            cause=near(source, known),
            try_=f'[sources.{source}] with document = "…"',
        )
