"""Files of published points: `[[group]]` tables whose points share what their group says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from trnbench.facts.table import Place, near, parse_toml

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
    if document.get("schema") != SCHEMA:
        raise place.error(
            f"schema is {document.get('schema')!r}", cause="this trnbench reads schema 1", try_="schema = 1"
        )
    return place, document


def rows(
    place: Place, document: Mapping[str, Any], *, together: Sequence[str] = ()
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
