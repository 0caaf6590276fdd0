"""The tables of the store, their version, the steps from older versions, and a run as rows of them."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from trnbench.errors import StoreError
from trnbench.results.digest import PARTS, bare, mark_of
from trnbench.results.json import dumps_value
from trnbench.results.measurement import Measurement
from trnbench.results.run import Run
from trnbench.store.compression import SMALL, compressed

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


_ENVIRONMENTS = (
    "SELECT number AS run, coalesce(json_extract(head, '$.environment'), '{}') AS content"
    " FROM main.runs WHERE json_valid(head)"
)


def _with_environments(connection: sqlite3.Connection) -> None:
    """What runs of version 2 say of their environment stands in their heads alone."""
    made = next(each for each in statements(TABLES) if each.startswith("CREATE TABLE environments"))
    connection.execute(made)
    connection.execute(f"INSERT INTO environments {_ENVIRONMENTS}")


MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {1: _with_journals, 2: _with_environments}
"""From version n to n + 1, inside one transaction."""

VIEWS = {
    1: "CREATE TEMP VIEW runs AS SELECT *, 0 AS indexed, '' AS digest FROM main.runs",
    2: f"CREATE TEMP VIEW environments AS {_ENVIRONMENTS}",
}
"""What stands for the step from version n to n + 1 where nothing may be written: names of this connection
alone, which go before those of the file."""


def show_as_present(connection: sqlite3.Connection, version: int) -> None:
    """Let a connection read tables of an older version as if they were of this one; the file stays."""
    connection.execute("PRAGMA temp_store = MEMORY")
    for step in range(version, STORE_VERSION):
        connection.execute(VIEWS[step])


def statements(script: str) -> list[str]:
    """The statements of a script, one by one: `executescript` would end the transaction around it."""
    return [statement.strip() for statement in script.split(";\n") if statement.strip()]


Row: TypeAlias = tuple[Any, ...]


class Attached(NamedTuple):
    """A part of a run that is kept apart; `content` is zlib of its JSON, `sha256` that of the JSON."""

    kind: str
    name: str
    sha256: str
    content: bytes

    @property
    def mark(self) -> tuple[str, str, str]:
        """What the run's digest takes of it."""
        return self.kind, self.name, mark_of(zlib.decompress(self.content))


def attached(run: Run) -> tuple[Attached, ...]:
    """The parts of `run` that are kept apart, in their order."""
    parts = []
    for kind in PARTS:
        for name, value in getattr(run, kind).items():
            document = dumps_value(value, f"run {run.id}: {kind}.{name}")
            parts.append(
                Attached(kind, name, hashlib.sha256(document).hexdigest(), compressed(document, SMALL))
            )
    return tuple(parts)


def head(run: Run) -> bytes:
    """The run without its measurements and attachments, as JSON; with its digest."""
    return dumps_value(replace(bare(run), digest=run.digest), f"run {run.id}")


COLUMNS = (
    *("case_id", "kernel", "family", "instance", "generation", "scope", "dtype"),
    *("status", "reason", "grade", "time_s", "metric", "value", "unit", "fraction"),
)
"""Of a measurement, between its position and its document."""


def cells(measurement: Measurement) -> Row:
    """What the table says of a measurement beside its document, in the order of `COLUMNS`."""
    metric = measurement.metrics.get(measurement.primary)
    case = measurement.case
    return (
        measurement.id,
        case.kernel,
        case.family,
        case.instance,
        case.generation,
        str(case.scope),
        case.dtype,
        str(measurement.status),
        str(measurement.reason),
        str(measurement.evidence.grade),
        measurement.time_s,
        measurement.primary,
        metric.value if metric else None,
        metric.unit if metric else "",
        measurement.judgement.fraction if measurement.judgement else None,
    )


def measurement_row(position: int, measurement: Measurement, document: bytes) -> Row:
    """The columns of one measurement after `run`, in the order of the table; `document`: zlib of its JSON."""
    return (position, *cells(measurement), document)


def insert_run(
    connection: sqlite3.Connection,
    path: Path,
    run: Run,
    parts: Iterable[Attached],
    *,
    planned: int,
    unfinished: bool = False,
    document: bytes = b"",
) -> int:
    """The run's own row and its attachments; returns its number. Raises `StoreError` for a known id.

    `document`: its head, where that was written already.
    """
    if connection.execute("SELECT 1 FROM runs WHERE id = ?", (run.id,)).fetchone():
        raise StoreError(
            f"run {run.id} is in {path} already",
            cause="it was saved or imported before; a stored run is never overwritten",
            try_=f"trnbench runs delete {run.id}",
        )
    # Whoever reads a run that was killed must see that it did not end by itself.
    interrupted = run.interrupted or unfinished
    number = connection.execute(
        "INSERT INTO runs (id, created, finished, interrupted, schema_version, tool_version, backend, grade,"
        " policy, planned, head, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            run.id,
            run.created,
            "" if unfinished else run.finished,
            int(interrupted),
            run.schema_version,
            run.tool_version,
            run.backend,
            str(run.grade),
            str(run.policy),
            planned,
            (document or head(run)).decode(),
            run.digest,
        ),
    ).lastrowid
    assert number is not None
    write_environment(connection, number, run)
    attach(connection, number, parts)
    return number


def attach(connection: sqlite3.Connection, number: int, parts: Iterable[Attached]) -> None:
    """The parts of a run that are kept apart, each document once for all runs that have it."""
    for position, part in enumerate(parts):
        connection.execute(
            "INSERT OR IGNORE INTO documents (sha256, content) VALUES (?, ?)", (part.sha256, part.content)
        )
        connection.execute(
            "INSERT OR REPLACE INTO attachments (run, position, kind, name, sha256) VALUES (?, ?, ?, ?, ?)",
            (number, position, part.kind, part.name, part.sha256),
        )


def write_environment(connection: sqlite3.Connection, number: int, run: Run) -> None:
    """What the run says of machine and versions, where it is read without the rest of the head."""
    content = dumps_value(run.environment, f"run {run.id}: environment").decode()
    connection.execute("INSERT OR REPLACE INTO environments (run, content) VALUES (?, ?)", (number, content))


def insert_measurements(connection: sqlite3.Connection, number: int, rows: Iterable[Row]) -> None:
    """Again for a position that is there already: a resumed case takes the place of the failed one."""
    insert = f"INSERT OR REPLACE INTO measurements VALUES ({', '.join('?' * 18)})"
    connection.executemany(insert, ((number, *row) for row in rows))


def change_run(connection: sqlite3.Connection, number: int, changes: Mapping[str, Any]) -> None:
    """Other values in columns of the run's own row."""
    assignments = ", ".join(f"{name} = ?" for name in changes)
    connection.execute(f"UPDATE runs SET {assignments} WHERE number = ?", (*changes.values(), number))


def ended(run: Run, document: bytes) -> dict[str, Any]:
    """What the row of a run says when it has ended; `document` is its head."""
    return {
        "finished": run.finished,
        "interrupted": int(run.interrupted),
        "grade": str(run.grade),
        "head": document.decode(),
        "digest": run.digest,
    }


def insert_tags(connection: sqlite3.Connection, number: int, tags: Iterable[str]) -> None:
    """A tag that the run has already is no error."""
    connection.executemany("INSERT OR IGNORE INTO tags VALUES (?, ?)", ((number, tag) for tag in tags))
