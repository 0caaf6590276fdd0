"""Published points of the installed generations, strictly from TOML, and what the model has seen of each.

An error names the file, the entry and what to write.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from trnbench.bounded.kinds import is_number
from trnbench.errors import FactError, UnitError
from trnbench.facts.files import Files
from trnbench.facts.table import Place, near, parse_toml, read_content
from trnbench.facts.units import normalise
from trnbench.results.fidelity import Comparison, Honesty, Use
from trnbench_fidelity.point import (
    ENGINES,
    FAMILIES,
    Clock,
    Kind,
    PublishedPoint,
    Quantity,
    Usable,
    kernel_source,
    vote,
)
from trnbench_fidelity.statistics import time_error

if TYPE_CHECKING:
    from trnbench.registry import Registry


T = TypeVar("T")

_TABLES = ("schema", "group", "sequence")  # the last is read by trnbench_fidelity.order

_TEXTS = (
    *("id", "family", "kind", "hardware", "system", "operation", "op", "shapes", "dtype", "dtype_printed"),
    *("cores", "metric", "quantity", "printed", "unit", "unit_printed", "value_note", "source"),
    *(
        "how_measured",
        "release",
        "clock",
        "confidence",
        "notes",
        "usable",
        "usable_note",
        "no_kernel",
        "of",
        "engine",
    ),
)
_KEYS: dict[str, type] = {
    **dict.fromkeys(_TEXTS, str),
    **dict.fromkeys(("value", "low", "high"), float),
    **dict.fromkeys(("shape", "kernel", "extra"), dict),
    **dict.fromkeys(("contradicts", "fitted", "shaped"), list),
}
_REQUIRED = (
    *("id", "family", "kind", "hardware", "op", "metric", "quantity", "unit", "source", "clock", "usable"),
)
_ID = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]*")


def load_published(path: Path, generation: str = "") -> tuple[PublishedPoint, ...]:
    """The points of one file, in its order.

    Raises `MissingFile`, `BadInput` for what is no TOML, and `FactError` for an entry that breaks a
    rule: unknown or missing key, unknown word, a value that is not what `printed` and `unit` say, an
    id used twice, a contradiction with a point that is not in the file or does not answer.
    """
    return _points(path, generation, read_content(path))


@lru_cache(maxsize=8)
def _points(path: Path, generation: str, content: bytes) -> tuple[PublishedPoint, ...]:
    """Of one content: many ask for them in one process, and each is checked key by key."""
    place, document = opened(path, content, _TABLES)
    points = points_of(place, document, lambda where, row: _point(where, row, generation))
    _check_contradictions(place, points)
    _check_parts(place, points)
    return tuple(points.values())


def _point(where: Place, row: dict[str, Any], generation: str) -> PublishedPoint:
    _no_lists_of_numbers_checked(where, row)
    where.check(row | _whole(row), _KEYS, _REQUIRED)
    where.word(row, "kind", Kind)
    where.word(row, "quantity", Quantity)
    where.word(row, "usable", Usable)
    where.word(row, "clock", Clock)
    where.word(row, "family", FAMILIES)
    check_id(where, row["id"])
    if row["usable"] == "no" and not row.get("usable_note"):
        raise where.error("usable is no, but not why", try_='usable_note = "the message size is not stated"')
    if row.get("no_kernel") and ("kernel" in row or row["usable"] != "source"):
        raise where.error(
            "no_kernel says why the public kernel cannot be run",
            cause="the point names one" if "kernel" in row else f"usable is {row['usable']}",
            try_="leave out one of the two",
        )
    where.numbers(row.get("shape", {}), "shape")
    fields = dict(row)
    fields |= {"kind": Kind(row["kind"]), "quantity": Quantity(row["quantity"])}
    fields |= {"usable": Usable(row["usable"]), "clock": Clock(row["clock"]), "generation": generation}
    fields |= {key: tuple(row[key]) for key in ("contradicts", "fitted", "shaped") if key in row}
    if "kernel" in row:
        fields["kernel"] = kernel_source(where.at("kernel"), row["kernel"])
    _check_value(where, row)
    return PublishedPoint(**fields)


def check_id(where: Place, id: str) -> None:
    if not _ID.fullmatch(id):
        raise where.error(f"{id!r} is no id", try_="letters, digits, dots, dashes and underscores")


def _whole(row: Mapping[str, Any]) -> dict[str, Any]:
    """A value may be written as a whole number."""
    return {key: float(row[key]) for key in ("value", "low", "high") if is_number(row.get(key))}


def _no_lists_of_numbers_checked(where: Place, row: Mapping[str, Any]) -> None:
    for key in ("shape", "extra"):
        for name, value in (row.get(key) or {}).items() if isinstance(row.get(key), dict) else ():
            good = is_number(value) or isinstance(value, str)
            if key == "shape" and isinstance(value, list):
                good = all(isinstance(each, int) and not isinstance(each, bool) for each in value)
            if not good:
                raise where.error(f"{key}.{name} is {value!r}", try_="a number or a text")


def _check_value(where: Place, row: Mapping[str, Any]) -> None:
    """The normalised value is what printed digits and unit say; both are there, or neither."""
    printed, value = row.get("printed", ""), row.get("value")
    if not printed and value is None:
        if not row.get("value_note"):
            raise where.error("neither a value nor a note why not", try_='value_note = "96 / 482"')
        return
    if not printed or value is None:
        raise where.error("printed and value belong together", try_='printed = "272.98", value = 272.98e9')
    expected = _base(where, printed, row["unit"], Quantity(row["quantity"]))
    if not value > 0:
        raise where.error(f"value is {value!r}", cause="a measurement is above zero")
    if not math.isclose(value, expected, rel_tol=1e-9):
        raise where.error(
            f"value is {value!r}, {printed} {row['unit']} is {expected!r}", try_=f"value = {expected!r}"
        )
    low, high = row.get("low", value), row.get("high", value)
    if not low <= value <= high:
        raise where.error(f"value {value!r} is not between low {low!r} and high {high!r}")


_DIMENSIONS = {
    "seconds": (Quantity.LATENCY,),
    "bytes_per_s": (Quantity.BANDWIDTH, Quantity.BUSBW),
    "flops": (Quantity.FLOPS,),
    "ratio": (Quantity.SHARE,),
    "hertz": (Quantity.CLOCK,),
    "bytes": (Quantity.BYTES,),
    "count": (Quantity.COUNT,),
}


def _base(where: Place, printed: str, unit: str, quantity: Quantity) -> float:
    if unit == "1/s":
        if quantity is not Quantity.RATE:
            raise where.error(f"unit 1/s does not measure {quantity}", try_='quantity = "rate_per_s"')
        return float(printed)
    try:
        value, dimension = normalise(printed, unit)
    except UnitError as error:
        raise where.error(error.what, cause=error.cause, try_=error.try_) from None
    if quantity not in _DIMENSIONS.get(dimension, ()):
        raise where.error(
            f"unit {unit!r} does not measure {quantity}", cause=f"its base unit would be {quantity.unit}"
        )
    return value


def _check_contradictions(place: Place, points: Mapping[str, PublishedPoint]) -> None:
    for point in points.values():
        if point.contradicts and not point.release:
            raise place.error(
                f"point {point.id} contradicts another, but not of which release it is",
                cause="releases of runtime and compiler may explain it",
                try_='release = "SDK 2.30", or "unstated"',
            )
        for opponent in point.contradicts:
            if opponent not in points or opponent == point.id:
                raise _unanswered(place, point.id, opponent, near(opponent, points))
            if point.id not in points[opponent].contradicts:
                raise _unanswered(place, point.id, opponent, f"{opponent} does not name {point.id}")
            if points[opponent].quantity is not point.quantity:
                raise place.error(
                    f"point {point.id} contradicts {opponent!r}",
                    cause=f"one is of {point.quantity}, the other of {points[opponent].quantity}",
                    try_="points contradict each other in one quantity",
                )


def _check_parts(place: Place, points: Mapping[str, PublishedPoint]) -> None:
    """An engine's busy time is a part of the profile of a point that is a time."""
    for point in points.values():
        if point.engine and not point.of:
            raise place.error(f"point {point.id} is of an engine, but not of which profile", try_='of = "…"')
        if point.engine and point.engine not in ENGINES:
            raise place.error(f"point {point.id}: engine {point.engine!r}", cause=near(point.engine, ENGINES))
        if not point.of:
            continue
        if point.of not in points:
            raise place.error(
                f"point {point.id} is of {point.of!r}, which is no point", cause=near(point.of, points)
            )
        if points[point.of].quantity is not Quantity.LATENCY:
            raise place.error(f"point {point.id} is of {point.of!r}, which is no time")


def _unanswered(place: Place, id: str, other: str, cause: str) -> FactError:
    return place.error(
        f"point {id} contradicts {other!r}", cause=cause, try_="name each of the two in the other's list"
    )


def errors_by_point(where: Place, table: Mapping[str, Any], known: Collection[str]) -> dict[str, float]:
    """`errors` of a table: ln(model / published) of some of the `known` points.

    Raises `FactError` for what is no such number, and for a point that is not published.
    """
    errors: dict[str, float] = {}
    for id, e in table["errors"].items():
        if not is_number(e) or not -100 < e < 100:
            raise where.error(f"errors.{id} is {e!r}", cause="it is ln(model time / published time)")
        if id not in known:
            raise where.error(f"errors.{id}: no such point is published", cause=near(id, known))
        errors[id] = float(e)
    return errors


SCHEMA = 1


@lru_cache(maxsize=8)
def tables_of(path: Path, content: bytes) -> Mapping[str, Any]:
    """The tables in the content of `path`, only to be looked at: all who ask in a process get the same ones.

    Raises `BadInput` for what is no TOML.
    """
    return parse_toml(path, content)


def opened(path: Path, content: bytes, tables: Sequence[str]) -> tuple[Place, Mapping[str, Any]]:
    """The tables in a file's content, none but `tables`. Raises `BadInput` and `FactError` with its place."""
    document = tables_of(path, content)
    place = Place(path)
    for key in document:
        if key not in tables:
            raise place.error(f"unknown key {key!r}", cause=near(key, tables))
    check_schema(place, document)
    return place, document


def check_schema(place: Place, document: Mapping[str, Any]) -> None:
    """Raises `FactError` for a file that is written in another one."""
    if document.get("schema") != SCHEMA:
        raise place.error(
            f"schema is {document.get('schema')!r}", cause="this trnbench reads schema 1", try_="schema = 1"
        )


def points_of(
    place: Place,
    document: Mapping[str, Any],
    read: Callable[[Place, dict[str, Any]], T],
    *,
    together: Sequence[str] = (),
) -> dict[str, T]:
    """What `read` makes of each point, by id. Raises `FactError` for an id used twice, and for no point."""
    points: dict[str, T] = {}
    for where, row in _rows(place, document, together):
        point = read(where, row)
        if row["id"] in points:
            raise where.error(f"id {row['id']!r} is used twice", try_="give each point an id of its own")
        points[row["id"]] = point
    if not points:
        raise place.error("no point in this file", try_="[[group]] with points = [ {id = …}, … ]")
    return points


def _rows(
    place: Place, document: Mapping[str, Any], together: Sequence[str]
) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Each point with what its group shares; of the tables named in `together` the keys are put together."""
    for where, group in place.tables(document, "group"):
        shared = {key: value for key, value in group.items() if key != "points"}
        points = group.get("points")
        if not isinstance(points, list) or not points:
            raise where.error("a group without a list of points", try_="points = [ {id = …, …}, … ]")
        for number, row in enumerate(points, 1):
            entry = where.at(f"point {number}")
            table = entry.table(row)
            if isinstance(table.get("id"), str) and table["id"]:
                entry = where.at(f"point {table['id']}")
            both = {**shared, **table}
            for key in together:
                if isinstance(shared.get(key), dict) and isinstance(table.get(key), dict):
                    both[key] = {**shared[key], **table[key]}
            yield entry, both


_READERS = ("trnbench_fidelity.published_points", "trnbench_fidelity.point")

Published = Mapping[str, tuple[PublishedPoint, ...]]
"""Generation → its points."""


def published_points(
    registry: Registry, generations: Collection[str] = ()
) -> dict[str, tuple[PublishedPoint, ...]]:
    """Generation → its points, for those that bring a file of them.

    Raises what `load_published` raises, and `FactError` when two files have a point of one id.
    """
    points: dict[str, tuple[PublishedPoint, ...]] = {}
    owners: dict[str, Path] = {}
    for name, generation in registry.generations.items():
        path = generation.points_file
        if path is None or (generations and name not in generations):
            continue
        points[name] = registry.reading.read(
            f"published points of {name}",
            Files(path),
            tuple[PublishedPoint, ...],
            partial(load_published, path, name),
            _READERS,
        )
        check_owned(path, (point.id for point in points[name]), owners)
    return points


def check_owned(path: Path, ids: Iterable[str], owners: dict[str, Path]) -> None:
    """Adds `ids` to the `owners` by id. Raises `FactError` where another file has a point of one."""
    for id in ids:
        if id in owners:
            raise FactError(
                f"{path}: id {id!r} is used twice",
                cause=f"{owners[id]} has it too",
                try_="give each point an id of its own",
            )
        owners[id] = path


def compared(
    point: PublishedPoint, use: Use, emulated: float | None = None, *, how: str = "", fitted: bool = False
) -> Comparison:
    """The point beside the model's answer, in the unit of its quantity; without `e_cross`.

    Of two honesties it has the worse.
    """
    seen = Honesty.FITTED if fitted else Honesty.SHAPED if point.shaped else Honesty.UNTOUCHED
    return Comparison(
        id=point.id,
        family=point.family,
        generation=point.generation,
        use=use,
        vote=vote(point),
        honesty=str(seen),
        quantity=str(point.quantity),
        unit=point.quantity.unit,
        published=point.value,
        emulated=emulated,
        e=error_of(point, emulated),
        how=how,
        source=point.source,
        confidence=point.confidence,
    )


def error_of(point: PublishedPoint, emulated: float | None) -> float | None:
    """ln(model time / published time); None where there is no answer or nothing to compare it with."""
    if emulated is None or point.value is None:
        return None
    return time_error(emulated, point.value, lower_is_better=point.quantity.lower_is_better)


def span_of(point: PublishedPoint, points: Mapping[str, PublishedPoint]) -> tuple[float, float]:
    """Lowest and highest value that the sources which contradict each other print."""
    told = [points[id].value for id in (point.id, *point.contradicts)]
    values = [value for value in told if value is not None]
    return min(values), max(values)
