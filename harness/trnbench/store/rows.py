"""A run as rows: what is written to which table."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import msgspec

from trnbench.errors import StoreError
from trnbench.results.digest import PARTS, bare, mark_of
from trnbench.results.json import dumps_value
from trnbench.results.measurement import Measurement
from trnbench.results.run import Run
from trnbench.store.compression import SMALL, compressed

if TYPE_CHECKING:
    import sqlite3

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
    return dumps_value(msgspec.structs.replace(bare(run), digest=run.digest), f"run {run.id}")


def columns(measurement: Measurement) -> dict[str, Any]:
    """What the table says of a measurement beside its document, by column."""
    metric = measurement.metrics.get(measurement.primary)
    case = measurement.case
    return {
        "case_id": measurement.id,
        "kernel": case.kernel,
        "family": case.family,
        "instance": case.instance,
        "generation": case.generation,
        "scope": str(case.scope),
        "dtype": case.dtype,
        "status": str(measurement.status),
        "reason": str(measurement.reason),
        "grade": str(measurement.evidence.grade),
        "time_s": measurement.time_s,
        "metric": measurement.primary,
        "value": metric.value if metric else None,
        "unit": metric.unit if metric else "",
        "fraction": measurement.judgement.fraction if measurement.judgement else None,
    }


def measurement_row(position: int, measurement: Measurement, document: bytes) -> Row:
    """The columns of one measurement after `run`, in the order of the table; `document`: zlib of its JSON."""
    return (position, *columns(measurement).values(), document)


def insert_run(
    connection: sqlite3.Connection,
    path: Path,
    run: Run,
    parts: Iterable[Attached],
    *,
    planned: int,
    unfinished: bool = False,
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
            head(run).decode(),
            run.digest,
        ),
    )
    number = int(connection.execute("SELECT number FROM runs WHERE id = ?", (run.id,)).fetchone()[0])
    write_environment(connection, number, run)
    for position, part in enumerate(parts):
        connection.execute(
            "INSERT OR IGNORE INTO documents (sha256, content) VALUES (?, ?)", (part.sha256, part.content)
        )
        connection.execute(
            "INSERT INTO attachments (run, position, kind, name, sha256) VALUES (?, ?, ?, ?, ?)",
            (number, position, part.kind, part.name, part.sha256),
        )
    return number


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


def ended(run: Run) -> dict[str, Any]:
    """What the row of a run says when it has ended."""
    return {
        "finished": run.finished,
        "interrupted": int(run.interrupted),
        "grade": str(run.grade),
        "head": head(run).decode(),
        "digest": run.digest,
    }


def insert_tags(connection: sqlite3.Connection, number: int, tags: Iterable[str]) -> None:
    """A tag that the run has already is no error."""
    connection.executemany("INSERT OR IGNORE INTO tags VALUES (?, ?)", ((number, tag) for tag in tags))
