"""The frozen list of points that the model had not seen before its rules changed, and how they moved."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from trnbench.facts.table import Place, near, read_toml
from trnbench.results.fidelity import Comparison, Moved, Mover
from trnbench_fidelity.family import FAMILIES
from trnbench_fidelity.point import Quantity
from trnbench_fidelity.statistics import bounds_of, counted_error, errors_of

SCHEMA = 1
LEAST = 0.0005
"""What rounding of the list makes: a point that moved less did not."""
MOVERS = 5
"""How many of the points that moved most are named, per family and generation."""


class Untouched(msgspec.Struct, frozen=True, kw_only=True):
    """`errors`: point → e = ln(model time / published time) by `version` of the model on `day`."""

    model: str
    version: str
    day: datetime.date
    errors: dict[str, float]


def load_untouched(path: Path, known: Iterable[str]) -> Untouched:
    """The list of one generation, whose published points are `known` by id.

    Raises `MissingFile`, `BadInput` for what is no TOML and for an error that is nan or inf, and `FactError`
    for an unknown or missing key, another schema, an error that is no number or far beyond any, and a point
    that is not published.
    """
    document = read_toml(path)
    place = Place(path)
    place.check(
        document,
        {"schema": int, "model": str, "version": str, "day": datetime.date, "errors": dict},
        ("schema", "model", "version", "day", "errors"),
    )
    if document["schema"] != SCHEMA:
        raise place.error(
            f"schema is {document['schema']!r}", cause="this trnbench reads schema 1", try_="schema = 1"
        )
    ids = set(known)
    errors: dict[str, float] = {}
    for id, e in document["errors"].items():
        if isinstance(e, bool) or not isinstance(e, int | float) or not -100 < e < 100:
            raise place.error(f"errors.{id} is {e!r}", cause="it is ln(model time / published time)")
        if id not in ids:
            raise place.error(f"errors.{id}: no such point is published", cause=near(id, ids))
        errors[id] = float(e)
    return Untouched(model=document["model"], version=document["version"], day=document["day"], errors=errors)


def moved(frozen: Untouched, rows: Mapping[str, Comparison]) -> tuple[Moved, ...]:
    """Then and now of the listed points among `rows` (comparisons by id), per family and generation."""
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for id in frozen.errors:
        if id in rows:
            groups.setdefault((rows[id].family, rows[id].generation), []).append(rows[id])
    return tuple(
        _moved(frozen, family, generation, mine) for (family, generation), mine in sorted(groups.items())
    )


def _moved(frozen: Untouched, family: str, generation: str, mine: list[Comparison]) -> Moved:
    answered = [each for each in mine if each.e is not None]
    then = [_with_error(each, frozen.errors[each.id]) for each in answered]
    movers = [
        Mover(id=now.id, then=old, now=new)
        for before, now in zip(then, answered, strict=True)
        if (old := counted_error(before)) is not None and (new := counted_error(now)) is not None
    ]
    movers.sort(key=lambda each: (-abs(abs(each.now) - abs(each.then)), each.id))
    return Moved(
        generation=generation,
        family=family,
        title=FAMILIES[family].title if family in FAMILIES else family,
        version=frozen.version,
        then=errors_of(then),
        now=errors_of(answered),
        bounds_then=bounds_of(then),
        bounds_now=bounds_of(answered),
        movers=tuple(each for each in movers[:MOVERS] if abs(each.now - each.then) > LEAST),
        unanswered=tuple(each.id for each in mine if each.e is None),
    )


def _with_error(row: Comparison, e: float) -> Comparison:
    """The comparison as it was when the model's error of the time was `e`."""
    assert row.published is not None
    faster = row.unit != Quantity.LATENCY.unit
    return msgspec.structs.replace(row, e=e, emulated=row.published * math.exp(-e if faster else e))
