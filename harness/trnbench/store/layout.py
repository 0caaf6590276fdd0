"""The tables of the store, their version, and the steps from older versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

STORE_VERSION = 3
# History: 3 adds `environments`; 2 adds `runs.indexed` and `runs.digest`; 1 first version.

APPLICATION_ID = 0x74726E62  # "trnb": tells our file from any other SQLite database

TABLES = """
CREATE TABLE runs (
    number         INTEGER PRIMARY KEY,
    id             TEXT NOT NULL UNIQUE,
    created        TEXT NOT NULL,
    finished       TEXT NOT NULL,            -- '' while it runs, and for ever when it was killed
    interrupted    INTEGER NOT NULL,
    schema_version INTEGER NOT NULL,         -- of the documents, not of the tables
    tool_version   TEXT NOT NULL,
    backend        TEXT NOT NULL,
    grade          TEXT NOT NULL,
    policy         TEXT NOT NULL,
    planned        INTEGER NOT NULL,         -- cases; more than there are rows when it was cut short
    head           TEXT NOT NULL,            -- the run as JSON without what the tables below hold
    indexed        INTEGER NOT NULL DEFAULT 0, -- bytes of its journal that are in these tables
    digest         TEXT NOT NULL DEFAULT ''  -- of the whole run, once it has ended
) STRICT;

CREATE TABLE environments (                  -- of `head`, which is long: apart, so that many are read quickly
    run     INTEGER PRIMARY KEY REFERENCES runs (number) ON DELETE CASCADE,
    content TEXT NOT NULL                    -- JSON
) STRICT;

CREATE TABLE documents (                     -- facts, graphs, sources: the same for many runs, kept once
    sha256  TEXT PRIMARY KEY,
    content BLOB NOT NULL                    -- zlib of JSON
) STRICT, WITHOUT ROWID;

CREATE TABLE attachments (
    run    INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    position INTEGER NOT NULL,               -- keeps the order they had in the run
    kind   TEXT NOT NULL,                    -- 'books', 'topologies' or 'inputs'
    name   TEXT NOT NULL,
    sha256 TEXT NOT NULL REFERENCES documents (sha256),
    PRIMARY KEY (run, kind, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE measurements (
    run        INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    position   INTEGER NOT NULL,             -- in the plan
    case_id    TEXT NOT NULL,
    kernel     TEXT NOT NULL,
    family     TEXT NOT NULL,
    instance   TEXT NOT NULL,
    generation TEXT NOT NULL,
    scope      TEXT NOT NULL,
    dtype      TEXT NOT NULL,
    status     TEXT NOT NULL,
    reason     TEXT NOT NULL,
    grade      TEXT NOT NULL,
    time_s     REAL,
    metric     TEXT NOT NULL,
    value      REAL,
    unit       TEXT NOT NULL,
    fraction   REAL,                         -- of the chosen peak
    document   BLOB NOT NULL,                -- the whole measurement: zlib of JSON
    PRIMARY KEY (run, position)
) STRICT;

CREATE INDEX measurements_by_case ON measurements (case_id, run);

CREATE TABLE tags (
    run INTEGER NOT NULL REFERENCES runs (number) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (run, tag)
) STRICT, WITHOUT ROWID;
"""


def _with_journals(connection: sqlite3.Connection) -> None:
    """Runs of version 1 have neither a journal nor a digest."""
    connection.execute("ALTER TABLE runs ADD COLUMN indexed INTEGER NOT NULL DEFAULT 0")
    connection.execute("ALTER TABLE runs ADD COLUMN digest TEXT NOT NULL DEFAULT ''")


def _with_environments(connection: sqlite3.Connection) -> None:
    """What runs of version 2 say of their environment stands in their heads alone."""
    made = next(each for each in statements(TABLES) if each.startswith("CREATE TABLE environments"))
    connection.execute(made)
    connection.execute(
        "INSERT INTO environments SELECT number, coalesce(json_extract(head, '$.environment'), '{}')"
        " FROM runs WHERE json_valid(head)"
    )


MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {1: _with_journals, 2: _with_environments}
"""From version n to n + 1, inside one transaction."""


def statements(script: str) -> list[str]:
    """The statements of a script, one by one: `executescript` would end the transaction around it."""
    return [statement.strip() for statement in script.split(";\n") if statement.strip()]
