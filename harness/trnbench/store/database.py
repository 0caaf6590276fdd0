"""Opening the SQLite file, and turning what can go wrong with it into words."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from trnbench.errors import StoreError
from trnbench.store import layout
from trnbench.store.journal import journals
from trnbench.store.path import folder_in_place, make_folder

if TYPE_CHECKING:
    import sqlite3

BUSY_S = 5.0
"""How long to wait for another process that is writing."""


class StoreBusy(StoreError):
    """The store takes nothing for a while: it is locked, or the disk is full."""


class NoRuns(StoreError):
    """The store is as good as new: nothing is wrong with it, nothing is in it."""


def connect(path: Path, *, write: bool, busy_s: float = BUSY_S) -> sqlite3.Connection:
    """An open database of the present version; created, or brought up to date, only for writing.

    Raises `StoreError` that names the path when the file is missing (for reading), locked,
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
            _prepare(connection, path, write=write)
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
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))


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
    if not write:
        connection.execute("PRAGMA query_only = ON")
    return connection


def _prepare(connection: sqlite3.Connection, path: Path, *, write: bool) -> None:
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
            try_="name another file with --store",
        )
    if version > layout.STORE_VERSION:
        raise StoreError(
            f"{path} has store version {version}; this trnbench reads up to {layout.STORE_VERSION}",
            cause="a newer trnbench has used it; it was left as it is",
            try_="pip install --upgrade trnbench, or name another file with --store",
        )
    if not write:
        if version < layout.STORE_VERSION:
            raise StoreError(
                f"{path} has store version {version}; it has to be brought to {layout.STORE_VERSION} first",
                cause="an older trnbench wrote it, and this command only reads",
                try_="trnbench store repair  brings it up to date",
            )
        return
    if tables == 0:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    # On file systems without shared memory this answers another mode, which serves as well.
    connection.execute("PRAGMA journal_mode = WAL").fetchone()
    connection.execute("PRAGMA synchronous = NORMAL")
    if version < layout.STORE_VERSION or tables == 0:
        _bring_up_to_date(connection, path)


def _bring_up_to_date(connection: sqlite3.Connection, path: Path) -> None:
    with transaction(connection):
        # Another process may have done it while this one waited for the lock.
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            for statement in layout.statements(layout.TABLES):
                connection.execute(statement)
            version = layout.STORE_VERSION
            connection.execute(f"PRAGMA application_id = {layout.APPLICATION_ID}")
        if version == 1:
            # Stores used to be as readable as the umask said; whoever opens one up again may.
            with suppress(OSError):
                path.chmod(path.stat().st_mode & 0o700)
        while version < layout.STORE_VERSION:
            step = layout.MIGRATIONS.get(version)
            if step is None:
                raise StoreError(
                    f"{path} has store version {version}, which this trnbench no longer reads",
                    cause=f"there is no step from version {version} to {version + 1}; it was left as it is",
                    try_="export its runs with the trnbench that wrote it",
                )
            step(connection)
            version += 1
        connection.execute(f"PRAGMA user_version = {version}")


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


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """SQLite's errors as `StoreError`, naming the file and what to do."""
    import sqlite3

    try:
        yield
    except sqlite3.Error as error:
        raise _translate(path, error) from error
    except OSError as error:
        raise StoreError(
            f"cannot open the store {path}: {error.strerror or error}",
            cause="a folder on the way cannot be entered, or the disk does not answer",
            try_="name another file with --store",
        ) from error


def _translate(path: Path, error: sqlite3.Error) -> StoreError:
    text = str(error)
    if "locked" in text or "busy" in text:
        return StoreBusy(
            f"the store {path} is locked",
            cause="another trnbench, or a database browser, is writing to it",
            try_="wait for it to end, or name another file with --store",
        )
    if "not a database" in text:
        return StoreError(
            f"{path} is not a store of trnbench: it is no SQLite database",
            cause="--store or TRNBENCH_STORE names some other file; it was left as it is",
            try_="name another file with --store"
            + ("; journals are beside it: trnbench store repair" if any(journals(path)) else ""),
        )
    if "malformed" in text or "corrupt" in text:
        return StoreError(
            f"the store {path} is damaged: {text}",
            cause="the disk failed, or the file was copied while it was written to; it was left as it is",
            try_="trnbench store repair",
        )
    if "readonly" in text:
        return StoreError(
            f"the store {path} cannot be written to",
            cause="the file or its folder is read-only for this user",
            try_="--store ./results.db  keeps results in the working folder",
        )
    if "full" in text or "disk I/O" in text:
        return StoreBusy(
            f"the store {path} cannot grow: {text}",
            cause="the disk is full, or it fails",
            try_="trnbench runs prune --keep 10, or name a file on another disk with --store",
        )
    if "unable to open" in text:
        return StoreError(
            f"cannot open the store {path}",
            cause="the file or its folder is not accessible to this user",
            try_="--store ./results.db  keeps results in the working folder",
        )
    return StoreError(
        f"the store {path} failed: {text}",
        cause="SQLite refused the operation; nothing was changed by it",
        try_="trnbench store check",
    )
