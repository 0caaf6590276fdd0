"""The database file of a store: damage that SQLite finds, and damage that it takes for something else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from trnbench.store.layout import APPLICATION_ID, STORE_VERSION, TABLES, statements

if TYPE_CHECKING:
    import sqlite3


def damages(connection: sqlite3.Connection, path: Path) -> Iterator[str]:
    """What is damaged of the file at `path`, which the connection reads, in words."""
    for (damage,) in connection.execute("PRAGMA integrity_check"):
        if damage != "ok":
            yield damage
    try:
        for table, *_ in connection.execute("PRAGMA foreign_key_check"):
            yield f"a row of {table} belongs to nothing"
    except connection.OperationalError as error:  # a name in the schema is another
        yield str(error)
    if not _formats(path) <= set(b"\1\2"):
        yield "its header names formats that it never had"
    # SQLite takes a name that was damaged in the schema for another name.
    for table, column in sorted(_present_columns()):
        try:
            connection.execute(f"SELECT {column} FROM {table} LIMIT 0")
        except connection.OperationalError:
            yield f"it has no column {table}.{column}"


def marked_as_ours(path: Path) -> bool:
    """Whether a database that has the tables of today, but not our mark or no version of ours, has both
    now."""
    if not (path.is_file() and os.access(path, os.R_OK | os.W_OK)):
        return False
    with closing(_connected(path)) as connection:
        try:
            mark = connection.execute("PRAGMA application_id").fetchone()[0]
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            present = _columns(connection) == _present_columns()
            if (mark, version) == (APPLICATION_ID, STORE_VERSION) or not present:
                return False
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {STORE_VERSION}")
        except (connection.Error, UnicodeDecodeError):
            return False
    return True


def _connected(path: Path | str) -> sqlite3.Connection:
    import sqlite3

    return sqlite3.connect(path)


def _formats(path: Path) -> set[int]:
    """Versions of the file format that writers and readers need, 1 or 2; of others SQLite reads some, and
    writes none (https://www.sqlite.org/fileformat.html)."""
    with path.open("rb") as file:
        return set(file.read(20)[18:])


def _present_columns() -> set[tuple[str, str]]:
    """Table and column of the present version."""
    with closing(_connected(":memory:")) as whole:
        for statement in statements(TABLES):
            whole.execute(statement)
        return _columns(whole)


def _columns(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    return set(
        connection.execute(
            "SELECT tables.name, columns.name FROM sqlite_schema AS tables"
            " JOIN pragma_table_info(tables.name) AS columns WHERE tables.type = 'table'"
        )
    )
