"""Frozen lists of points that the model had not seen before its rules changed, and how they moved."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any

import msgspec

from trnbench.facts.table import Place, near, read_toml
from trnbench.results.fidelity import Comparison, Moved, Mover
from trnbench_fidelity.point import FAMILIES, Quantity
from trnbench_fidelity.statistics import bounds_of, counted_error, errors_of

SCHEMA = 1
LEAST = math.log(1.05)
"""Points that moved by more are named, every one."""

_KEYS: dict[str, type] = {"model": str, "version": str, "day": datetime.date, "errors": dict}


class Untouched(msgspec.Struct, frozen=True, kw_only=True):
    """`errors`: point → e = ln(model time / published time) by `version` of the model on `day`."""

    model: str
    version: str
    day: datetime.date
    errors: dict[str, float]


def load_untouched(path: Path, known: Iterable[str]) -> tuple[Untouched, ...]:
    """The lists of one generation, whose published points are `known` by id, in the order they were frozen:
    the file's own, then its `[[later]]`.

    Raises `MissingFile`, `BadInput` for what is no TOML and for an error that is nan or inf, and `FactError`
    for an unknown or missing key, another schema, an error that is no number or far beyond any, and a point
    that is not published.
    """
    document = read_toml(path)
    place = Place(path)
    first = {key: value for key, value in document.items() if key != "later"}
    place.check(first, {"schema": int, **_KEYS}, ("schema", *_KEYS))
    if document["schema"] != SCHEMA:
        raise place.error(
            f"schema is {document['schema']!r}", cause="this trnbench reads schema 1", try_="schema = 1"
        )
    ids = set(known)
    later = list(place.tables(document, "later"))
    for where, table in later:
        where.check(table, _KEYS, tuple(_KEYS))
    return tuple(_frozen(where, table, ids) for where, table in ((place, first), *later))


def _frozen(place: Place, document: Mapping[str, Any], ids: Set[str]) -> Untouched:
    errors: dict[str, float] = {}
    for id, e in document["errors"].items():
        if isinstance(e, bool) or not isinstance(e, int | float) or not -100 < e < 100:
            raise place.error(f"errors.{id} is {e!r}", cause="it is ln(model time / published time)")
        if id not in ids:
            raise place.error(f"errors.{id}: no such point is published", cause=near(id, ids))
        errors[id] = float(e)
    return Untouched(model=document["model"], version=document["version"], day=document["day"], errors=errors)


def moved(frozen: Untouched, rows: Mapping[str, Comparison]) -> tuple[Moved, ...]:
    """Of one list, then and now of its points among `rows` (comparisons by id), per family and generation."""
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
        movers=tuple(mover for mover in movers if abs(mover.now - mover.then) > LEAST),
        unanswered=tuple(each.id for each in mine if each.e is None),
    )


def _with_error(row: Comparison, e: float) -> Comparison:
    """The comparison as it was when the model's error of the time was `e`."""
    assert row.published is not None
    faster = row.unit != Quantity.LATENCY.unit
    return msgspec.structs.replace(row, e=e, emulated=row.published * math.exp(-e if faster else e))
