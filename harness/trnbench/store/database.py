"""The store as an SQLite file: opening it, and transactions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import quote

from trnbench.errors import StoreError, TrnbenchError
from trnbench.store import layout
from trnbench.store.compression import PAGE_BYTES
from trnbench.store.journal import journal_path
from trnbench.store.path import another_file, damaged, explained, folder_in_place, make_folder, store_path

if TYPE_CHECKING:
    import sqlite3

BUSY_S = 5.0
"""How long to wait for another process that is writing."""


class NoRuns(StoreError):
    """The store is as good as new: nothing is wrong with it, nothing is in it."""


def _unheard(_: str) -> None:
    """Nobody listens."""


def connect(path: Path, *, write: bool, busy_s: float, say: Callable[[str], None]) -> sqlite3.Connection:
    """An open database; created, or brought to the present version, only for writing.

    One of an older version is read as it is. Before it is brought up to date it is copied, and `say` is told
    so in a sentence. Raises `StoreError` that names the path when the file is missing (for reading), locked,
    corrupt, read-only, of another program or of a newer trnbench. The file is never replaced.
    """
    check_place(path)
    if write:
        make_folder(path)
        _make_private(path)
    elif not path.exists():
        raise NoRuns(
            f"there are no stored runs yet: {path} does not exist",
            cause="nothing was run with this store, or --store or TRNBENCH_STORE points elsewhere",
            try_="trnbench run",
        )
    with explained(path):
        connection = _open(path, write=write, busy_s=busy_s)
        try:
            if _prepared(connection, path, write=write):
                _bring_up_to_date(connection, path, say)
        except BaseException:
            connection.close()
            raise
    return connection


def check_place(path: Path) -> None:
    """Raises `StoreError` where a folder is in the place of the file."""
    if path.is_dir():
        raise folder_in_place(path)


def _make_private(path: Path) -> None:
    """A new store is its owner's alone; SQLite gives the files beside it the same permissions."""
    with suppress(OSError):  # it exists, or `_open` will say what is wrong
        path.touch(0o600, exist_ok=False)


def no_runs(path: Path) -> NoRuns:
    """What to say of a store that is there and holds nothing."""
    return NoRuns(
        f"there are no stored runs yet: {path} is empty",
        cause="nothing was run with this store, or every run was deleted",
        try_="trnbench run",
    )


def _open(path: Path, *, write: bool, busy_s: float) -> sqlite3.Connection:
    import sqlite3

    if write:
        mode = "rwc"
    elif os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        mode = "rw"  # a read-only connection would leave its -wal and -shm files behind
    else:
        # A reader of a WAL database needs those files; in a folder it cannot write to, only a
        # database at rest (no -wal) may be read, as an immutable one.
        wal = path.with_name(path.name + "-wal")
        at_rest = not wal.exists() or wal.stat().st_size == 0
        mode = "ro&immutable=1" if at_rest and not os.access(path.parent, os.W_OK) else "ro"
    uri = f"file:{quote(str(path.absolute()))}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=busy_s, isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _prepared(connection: sqlite3.Connection, path: Path, *, write: bool) -> bool:
    """Whether it is still to be created or brought up to date."""
    # Tables first: another process may be creating the store, and does all three at once.
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    owner = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if tables == 0 and not write:
        raise no_runs(path)
    if owner != layout.APPLICATION_ID and tables:
        raise StoreError(
            f"{path} is an SQLite database, but not a store of trnbench",
            cause="--store or TRNBENCH_STORE names the file of another program; it was left as it is",
            try_=another_file(path),
        )
    if version > layout.STORE_VERSION:
        raise StoreError(
            f"{path} has store version {version}; this trnbench reads up to {layout.STORE_VERSION}",
            cause="a newer trnbench has used it; it was left as it is",
            try_="pip install --upgrade trnbench, or name another file with --store",
        )
    if tables and version < 1:
        raise damaged(path, f"its version is {version}")
    if not write:
        layout.show_as_present(connection, version)
        connection.execute("PRAGMA query_only = ON")
        return False
    if tables == 0:
        connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    # On file systems without shared memory this answers another mode, which serves as well.
    connection.execute("PRAGMA journal_mode = WAL").fetchone()
    connection.execute("PRAGMA synchronous = NORMAL")
    return bool(version < layout.STORE_VERSION)


def _bring_up_to_date(connection: sqlite3.Connection, path: Path, say: Callable[[str], None]) -> None:
    with transaction(connection):
        # Another process may have done it while this one waited for the lock.
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            for statement in layout.statements(layout.TABLES):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {layout.APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {layout.STORE_VERSION}")
            return
        if version == layout.STORE_VERSION:
            return
        kept = _kept_as_it_is(path)
        if version == 1:
            # Stores used to be as readable as the umask said; whoever opens one up again may.
            with suppress(OSError):
                path.chmod(path.stat().st_mode & 0o700)
        _migrate(connection, version)
    say(
        f"{path} was brought from store version {version} to {layout.STORE_VERSION}; "
        f"as it was, it is in {kept}"
    )


def _migrate(connection: sqlite3.Connection, version: int) -> None:
    for step in range(version, layout.STORE_VERSION):
        layout.MIGRATIONS[step](connection)
    connection.execute(f"PRAGMA user_version = {layout.STORE_VERSION}")


def _kept_as_it_is(path: Path) -> Path:
    """A copy beside the store, before the transaction under way. Raises `StoreError` where it cannot be."""
    target = free_name(path, "backup")
    try:
        # Another connection sees nothing of the transaction.
        with closing(_open(path, write=False, busy_s=BUSY_S)) as connection:
            copy_whole(connection, target)
    except OSError as error:
        raise StoreError(
            f"{path} is of an older version, and no copy of it can be made: {error.strerror or error}",
            cause=f"it is copied to {target} before it is brought up to date; it was left as it is",
            try_="make room in that folder; commands that only read do without",
        ) from error
    return target


def copy_whole(connection: sqlite3.Connection, target: Path) -> None:
    """The store of a connection as one new file, its owner's alone, which is removed again on an error.

    Raises `OSError` where the file exists or cannot be made, `StoreError` where it cannot be filled.
    """
    import sqlite3

    target.touch(0o600, exist_ok=False)
    try:
        with explained(target), closing(sqlite3.connect(target)) as copy:
            connection.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE").fetchone()
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def free_name(path: Path, suffix: str) -> Path:
    """The first of `results.db.SUFFIX-1`, `-2`, … that does not exist."""
    number = 1
    while (candidate := path.with_name(f"{path.name}.{suffix}-{number}")).exists():
        number += 1
    return candidate


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, also when the process is interrupted half way."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


class StoreFile:
    """Opened for reading, and for writing when something is written.

    Every method raises `StoreError` when the file cannot be used as asked. Use as a context manager, or call
    `close`.
    """

    def __init__(self, path: str | Path | None = None, *, busy_s: float = BUSY_S) -> None:
        self.path = store_path(path)
        self._busy_s = busy_s
        self._connection: sqlite3.Connection | None = None
        self._writable = False
        self.behind: StoreError | None = None  # why it lacks cases of the run that was last recorded
        self.on_change: Callable[[str], None] = _unheard  # told in a sentence that it was brought up to date

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._writable = False

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The connection, with its errors explained. Raises `StoreError` where there is no file."""
        with explained(self.path), self._sound():
            yield self._open(write=False)

    @contextmanager
    def writing(self, *, busy_s: float | None = None) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it, or none. `busy_s`: how long to wait for others, where not as usual."""
        with explained(self.path), self._sound():
            connection = self._open(write=True, busy_s=busy_s)
            with transaction(connection):
                yield connection

    @contextmanager
    def _sound(self) -> Iterator[None]:
        """Values of types and kinds that this program never wrote are damage, where SQLite finds damage too;
        elsewhere what they lead to is a mistake of ours."""
        try:
            yield
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            if isinstance(error, TrnbenchError) or not self._is_damaged():
                raise
            raise damaged(self.path, str(error)) from error

    def _is_damaged(self) -> bool:
        import sqlite3

        if self._connection is None:
            return False
        try:
            answer = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
        except (sqlite3.Error, UnicodeDecodeError):
            return True
        return bool(answer != ("ok",))

    def journal(self, run_id: str) -> Path:
        """Where the journal of a run (full id) is, or would be."""
        return journal_path(self.path, run_id)

    def indexed(self) -> dict[str, int]:
        """How many bytes of its journal the tables hold, by run; nothing where there is no store yet."""
        try:
            with self.reading() as connection:
                return dict(connection.execute("SELECT id, indexed FROM runs"))
        except StoreError:  # none yet
            return {}

    def is_older(self) -> bool:
        """Whether there is a store of an older version."""
        try:
            with self.reading() as connection:
                version = connection.execute("PRAGMA user_version").fetchone()[0]
        except StoreError:
            return False
        return bool(version < layout.STORE_VERSION)

    @contextmanager
    def in_memory(self) -> Iterator[sqlite3.Connection]:
        """One transaction on a copy in memory, of the present version, which is read from then on."""
        import sqlite3

        with self.reading() as connection:
            copy = sqlite3.connect(":memory:", isolation_level=None)
            connection.backup(copy)
            self.close()
            self._connection = copy
            with transaction(copy):
                _migrate(copy, copy.execute("PRAGMA user_version").fetchone()[0])
                yield copy
            copy.execute("PRAGMA query_only = ON")

    def _open(self, *, write: bool, busy_s: float | None = None) -> sqlite3.Connection:
        waits_s = self._busy_s if busy_s is None else min(busy_s, self._busy_s)
        if self._connection is not None and write and not self._writable:
            self.close()
        if self._connection is None:
            self._connection = connect(self.path, write=write, busy_s=waits_s, say=self.on_change)
            self._writable = write
        self._connection.execute(f"PRAGMA busy_timeout = {round(waits_s * 1000)}")
        return self._connection
