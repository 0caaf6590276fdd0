"""The result store: runs kept whole, so that they open when the plugins that made them are gone."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import msgspec

from trnbench.errors import StoreError, UnknownName, UsageError
from trnbench.results.json import dumps_measurement, loads, loads_value
from trnbench.results.run import Run
from trnbench.store.database import BUSY_S, NoRuns, connect, explained, no_runs, transaction
from trnbench.store.path import store_path
from trnbench.store.rows import ATTACHED, insert_measurements, insert_run, insert_tags, measurement_row
from trnbench.store.summary import RunSummary, summaries
from trnbench.store.tag import LATEST, checked_tags

if TYPE_CHECKING:
    import sqlite3

    from trnbench.store.recording import Recording


class Store:
    """Runs in one SQLite file; opened when it is first used, for writing when something is written.

    Every method raises `StoreError` when the file cannot be used as asked; nothing that is
    already in it is ever lost by that. Use as a context manager, or call `close`.
    """

    def __init__(self, path: str | Path | None = None, *, busy_s: float = BUSY_S) -> None:
        self.path = store_path(path)
        self._busy_s = busy_s
        self._connection: sqlite3.Connection | None = None
        self._writable = False

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._writable = False

    def save(self, run: Run, tags: Iterable[str] = ()) -> None:
        """Keep a finished run; all of it or, on an error, none of it."""
        documents = [dumps_measurement(each) for each in run.measurements]
        rows = [
            measurement_row(at, each, document)
            for at, (each, document) in enumerate(zip(run.measurements, documents, strict=True))
        ]
        with self.writing() as connection:
            number = insert_run(connection, self.path, run, planned=len(rows))
            insert_measurements(connection, number, rows)
            insert_tags(connection, number, checked_tags(tags))

    def record(self, run: Run, *, planned: int, tags: Iterable[str] = ()) -> Recording:
        """Begin a run whose measurements arrive one by one; each is safe as soon as it is added."""
        from trnbench.store.recording import Recording

        tags = checked_tags(tags)
        with self.writing() as connection:
            number = insert_run(connection, self.path, run, planned=planned, unfinished=True)
            insert_tags(connection, number, tags)
        return Recording(self, run.id, number)

    def delete(self, ids: Sequence[str]) -> None:
        """Remove runs (full ids), all or none. Raises `UnknownName` for an id that is not there."""
        with self.writing() as connection:
            for run_id in ids:
                if not connection.execute("DELETE FROM runs WHERE id = ?", (run_id,)).rowcount:
                    raise self._unknown(connection, run_id)
            connection.execute("DELETE FROM documents WHERE sha256 NOT IN (SELECT sha256 FROM attachments)")
        with self.reading() as connection:
            # `execute` would step once, which frees one page.
            connection.executescript("PRAGMA incremental_vacuum")

    def tag(self, run_id: str, add: Iterable[str] = (), remove: Iterable[str] = ()) -> tuple[str, ...]:
        """Change the tags of a run (full id) and return them sorted."""
        add = checked_tags(add)
        with self.writing() as connection:
            number = self._number(connection, run_id)
            connection.executemany(
                "DELETE FROM tags WHERE run = ? AND tag = ?", ((number, tag) for tag in remove)
            )
            insert_tags(connection, number, add)
            rows = connection.execute("SELECT tag FROM tags WHERE run = ? ORDER BY tag", (number,))
            return tuple(row[0] for row in rows)

    def load(self, ref: str = LATEST) -> Run:
        """A whole run. `ref` as for `resolve`. Raises `UnknownName`, `BadInput` for a newer schema."""
        with self.reading() as connection:
            run_id = self.resolve(ref)
            where = f"run {run_id} in {self.path}"
            number, head, finished, interrupted = connection.execute(
                "SELECT number, head, finished, interrupted FROM runs WHERE id = ?", (run_id,)
            ).fetchone()
            document: dict[str, Any] = loads_value(head, dict, where)
            # The columns change last, when a run ends; a run that was killed never got so far.
            document |= {"finished": finished, "interrupted": bool(interrupted)}
            document |= {kind: {} for kind in ATTACHED}
            for kind, name, content in connection.execute(
                "SELECT kind, name, content FROM attachments JOIN documents USING (sha256) WHERE run = ?"
                " ORDER BY position",
                (number,),
            ):
                document[kind][name] = msgspec.Raw(self._inflated(content))
            document["measurements"] = [
                msgspec.Raw(self._inflated(row[0]))
                for row in connection.execute(
                    "SELECT document FROM measurements WHERE run = ? ORDER BY position", (number,)
                )
            ]
        return loads(msgspec.json.encode(document), where)

    def list(self) -> tuple[RunSummary, ...]:
        """Every run, oldest first; an empty tuple where there is no store yet."""
        try:
            with self.reading() as connection:
                return summaries(connection)
        except NoRuns:
            return ()

    def resolve(self, ref: str) -> str:
        """The full id that `ref` names: an id, the beginning of one, a tag, or "latest".

        A tag means the newest run that bears it. Raises `UnknownName` with the nearest names, and
        `UsageError` when a beginning fits several runs.
        """
        with self.reading() as connection:
            if connection.execute("SELECT 1 FROM runs WHERE id = ?", (ref,)).fetchone():
                return ref
            tagged = connection.execute(
                "SELECT id FROM runs JOIN tags ON run = number WHERE tag = ? ORDER BY number DESC LIMIT 1",
                (ref,),
            ).fetchone()
            if tagged:
                return str(tagged[0])
            if ref == LATEST:
                newest = connection.execute("SELECT id FROM runs ORDER BY number DESC LIMIT 1").fetchone()
                if newest:
                    return str(newest[0])
                raise no_runs(self.path)
            begins = [
                row[0]
                for row in connection.execute(
                    "SELECT id FROM runs WHERE substr(id, 1, length(?1)) = ?1 ORDER BY number", (ref,)
                )
            ]
            if len(begins) == 1 and ref:
                return str(begins[0])
            if len(begins) > 1 and ref:
                raise UsageError(
                    f"{ref!r} is the beginning of {len(begins)} runs",
                    cause=", ".join(begins[-5:]),
                    try_="write more of the id",
                )
            raise self._unknown(connection, ref)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The connection, with its errors explained. Raises `StoreError` where there is no file."""
        with explained(self.path):
            yield self._open(write=False)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it, or none."""
        with explained(self.path):
            connection = self._open(write=True)
            with transaction(connection):
                yield connection

    def _open(self, *, write: bool) -> sqlite3.Connection:
        if self._connection is not None and write and not self._writable:
            self.close()
        if self._connection is None:
            self._connection = connect(self.path, write=write, busy_s=self._busy_s)
            self._writable = write
        return self._connection

    def _number(self, connection: sqlite3.Connection, run_id: str) -> int:
        found = connection.execute("SELECT number FROM runs WHERE id = ?", (run_id,)).fetchone()
        if found is None:
            raise self._unknown(connection, run_id)
        return int(found[0])

    def _unknown(self, connection: sqlite3.Connection, ref: str) -> UnknownName:
        known = [row[0] for row in connection.execute("SELECT id FROM runs UNION SELECT tag FROM tags")]
        return UnknownName("run", ref, known, try_="trnbench runs list")

    def _inflated(self, content: bytes) -> bytes:
        try:
            return zlib.decompress(content)
        except zlib.error as error:
            raise StoreError(
                f"the store {self.path} is damaged: {error}",
                cause="the disk failed, or another program changed it; it was left as it is",
                try_=f'sqlite3 "{self.path}" "PRAGMA integrity_check"',
            ) from error
