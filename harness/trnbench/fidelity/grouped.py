"""Files of published points: `[[group]]` tables whose points share what their group says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from trnbench.facts.table import Place, near, read_toml

SCHEMA = 1


def opened(path: Path, tables: Sequence[str]) -> tuple[Place, dict[str, Any]]:
    """The file's tables, of which there are none but `tables`. Raises `FactError` with its place."""
    document = read_toml(path)
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
