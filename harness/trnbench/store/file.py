"""The one SQLite file of a store and the journals beside it, opened when they are first used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from trnbench.errors import StoreError
from trnbench.store.database import BUSY_S, connect, explained, transaction
from trnbench.store.journal import journal_path
from trnbench.store.path import store_path

if TYPE_CHECKING:
    import sqlite3


class StoreFile:
    """Opened for reading, and for writing when something is written.

    Every method raises `StoreError` when the file cannot be used as asked. Use as a context manager, or call
    `close`.
    """

    def __init__(self, path: str | Path | None = None, *, busy_s: float = BUSY_S) -> None:
        self.path = store_path(path)
        self._busy_s = busy_s
        self._waits_s = busy_s
        self._connection: sqlite3.Connection | None = None
        self._writable = False
        self.behind: StoreError | None = None  # why it lacks cases of the run that was last recorded

    def __enter__(self) -> Self:
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

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The connection, with its errors explained. Raises `StoreError` where there is no file."""
        with explained(self.path):
            yield self._open(write=False)

    @contextmanager
    def writing(self, *, busy_s: float | None = None) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it, or none. `busy_s`: how long to wait for others, where not as usual."""
        with explained(self.path):
            connection = self._open(write=True, busy_s=busy_s)
            with transaction(connection):
                yield connection

    def journal(self, run_id: str) -> Path:
        """Where the journal of a run (full id) is, or would be."""
        return journal_path(self.path, run_id)

    def indexed(self) -> dict[str, int]:
        """How many bytes of its journal the tables hold, by run; nothing where there is no store yet."""
        try:
            with self.reading() as connection:
                return dict(connection.execute("SELECT id, indexed FROM runs"))
        except StoreError:  # none yet, or of an older version
            return {}

    def _open(self, *, write: bool, busy_s: float | None = None) -> sqlite3.Connection:
        waits_s = self._busy_s if busy_s is None else min(busy_s, self._busy_s)
        if self._connection is not None and write and not self._writable:
            self.close()
        if self._connection is None:
            self._connection = connect(self.path, write=write, busy_s=waits_s)
            self._writable, self._waits_s = write, waits_s
        if waits_s != self._waits_s:
            self._connection.execute(f"PRAGMA busy_timeout = {round(waits_s * 1000)}")
            self._waits_s = waits_s
        return self._connection
