"""A run as rows: what is written to which table."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from trnbench.errors import StoreError
from trnbench.results.json import dumps_value
from trnbench.results.measurement import Measurement
from trnbench.results.run import Run

if TYPE_CHECKING:
    import sqlite3

Row: TypeAlias = tuple[Any, ...]

ATTACHED = ("books", "topologies")
"""Parts of a run that are the same for many runs, and are kept once."""


def head(run: Run) -> bytes:
    """The run without its measurements and attachments, as JSON."""
    return dumps_value(
        msgspec.structs.replace(run, measurements=(), books={}, topologies={}), f"run {run.id}"
    )


def measurement_row(position: int, measurement: Measurement, document: bytes) -> Row:
    """The columns of one measurement after `run`, in the order of the table."""
    metric = measurement.metrics.get(measurement.primary)
    case = measurement.case
    return (
        position,
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
        zlib.compress(document),
    )


def insert_run(
    connection: sqlite3.Connection, path: Path, run: Run, *, planned: int, unfinished: bool = False
) -> int:
    """The run's own row and its attachments; returns its number. Raises `StoreError` for a known id."""
    if connection.execute("SELECT 1 FROM runs WHERE id = ?", (run.id,)).fetchone():
        raise StoreError(
            f"run {run.id} is in {path} already",
            cause="it was saved or imported before; a stored run is never overwritten",
            try_=f"trnbench runs delete {run.id}",
        )
    # Whoever reads a run that was killed must see that it did not end by itself.
    interrupted = run.interrupted or unfinished
    connection.execute(
        "INSERT INTO runs (id, created, finished, interrupted, schema_version, tool_version, backend, grade,"
        " policy, planned, head) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
            head(run).decode(),
        ),
    )
    number = int(connection.execute("SELECT number FROM runs WHERE id = ?", (run.id,)).fetchone()[0])
    position = 0
    for kind in ATTACHED:
        for name, value in getattr(run, kind).items():
            _attach(
                connection, number, position, kind, name, dumps_value(value, f"run {run.id}: {kind}.{name}")
            )
            position += 1
    return number


def _attach(
    connection: sqlite3.Connection, number: int, position: int, kind: str, name: str, content: bytes
) -> None:
    digest = hashlib.sha256(content).hexdigest()
    connection.execute(
        "INSERT OR IGNORE INTO documents (sha256, content) VALUES (?, ?)", (digest, zlib.compress(content))
    )
    connection.execute(
        "INSERT INTO attachments (run, position, kind, name, sha256) VALUES (?, ?, ?, ?, ?)",
        (number, position, kind, name, digest),
    )


def insert_measurements(connection: sqlite3.Connection, number: int, rows: Iterable[Row]) -> None:
    """Again for a position that is there already: an interruption may make a row be sent twice."""
    insert = f"INSERT OR REPLACE INTO measurements VALUES ({', '.join('?' * 18)})"
    connection.executemany(insert, ((number, *row) for row in rows))


def insert_tags(connection: sqlite3.Connection, number: int, tags: Iterable[str]) -> None:
    """A tag that the run has already is no error."""
    connection.executemany("INSERT OR IGNORE INTO tags VALUES (?, ?)", ((number, tag) for tag in tags))
