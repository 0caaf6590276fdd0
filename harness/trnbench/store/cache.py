"""The cache: what was computed before, by the digest of what it follows from, in a file beside the store.

Nothing depends on it. An entry that is damaged or foreign is as good as none, a file that cannot be read is
begun anew, and where nothing can be written the answers are computed each time.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from trnbench.digest import blake2b, digest_of, packages_digest
from trnbench.errors import StoreError
from trnbench.facts.files import Files
from trnbench.store.compression import PAGE_BYTES, compressed

if TYPE_CHECKING:
    import sqlite3

SUFFIX = ".cache"
"""Behind the name of the store's file."""

LIMIT_BYTES = 256 << 20
"""What the entries may hold, unless one run uses more: it finds all of them the next time."""

GROWS = 4
"""So many times the limit the entries of one run may take; then those that were kept first stay."""

_LAYOUT = 3
_BUSY_MS = 2_000
_KEY_BYTES, _MARK_BYTES = 16, 8
"""Of a digest: two questions never share the one, and damage is seen by the other."""

_KEEP = 0.75
"""Of the limit, once it is passed."""

_TABLE = """
CREATE TABLE IF NOT EXISTS entries (
    key BLOB PRIMARY KEY, content BLOB NOT NULL, mark BLOB NOT NULL, bytes INTEGER NOT NULL
)
"""


class CacheInfo(NamedTuple):
    """`problem`: why nothing is kept, "" where all is well."""

    path: Path
    entries: int
    bytes: int
    limit_bytes: int
    problem: str


class Cache:
    """Entries by key, as bytes. No method raises for what is wrong with the file: `problem` tells.

    Processes may share one. It can be sent to another process, which opens the file for itself.
    """

    def __init__(self, store: str | Path, *, limit_bytes: int = LIMIT_BYTES) -> None:
        """`store`: the file of results that it lies beside."""
        store = Path(store)
        self.path = store.with_name(store.name + SUFFIX)
        self.limit_bytes = limit_bytes
        self._begin()

    def _begin(self) -> None:
        self.problem = ""
        self._connection: sqlite3.Connection | None = None
        self._added, self._at_limit = self.limit_bytes, False
        self._last_row: int | None = None
        self._hit_rows, self._hit_bytes = array("q"), 0

    def __getstate__(self) -> dict[str, Any]:
        self._begins()
        return {name: getattr(self, name) for name in ("path", "limit_bytes", "_last_row", "_hit_bytes")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.limit_bytes = state["limit_bytes"]
        self._begin()
        vars(self).update(state)

    def get(self, key: bytes, example: bytes = b"") -> bytes | None:
        """None where there is no whole entry. `example` is what it was put with."""
        if self._connection is None and not self.path.exists():
            return None
        connection = self._connected()
        if connection is None:
            return None
        key = key[:_KEY_BYTES]
        with self._explained():
            row = connection.execute(
                "SELECT content, mark, rowid FROM entries WHERE key = ?", (key,)
            ).fetchone()
            if row is None or not isinstance(row[0], bytes) or _mark(key, row[0]) != row[1]:
                return None
            with suppress(zlib.error):
                content = _restored(row[0], example) if example else zlib.decompress(row[0])
                if row[2] <= (self._last_row or 0):  # later ones are this run's anyway
                    self._hit_rows.append(row[2])
                    self._hit_bytes += len(row[0])
                return content
        return None

    @contextmanager
    def reading(self) -> Iterator[None]:
        """For many that are only asked for: the file is locked once, and what others add is not seen."""
        connection = self._begins()
        if connection is not None:
            with self._explained():
                connection.execute("BEGIN")
        try:
            yield
        finally:
            if self._connection is not None and self._connection.in_transaction:
                with self._explained():
                    self._connection.execute("COMMIT")

    def put(self, key: bytes, content: bytes) -> None:
        """Keep `content`, in place of what was there."""
        self.put_all({key: content})

    def put_first(self, key: bytes, content: bytes) -> bytes:
        """Keep `content` unless another process was first; what is kept, b"" where nothing can be."""
        self.put_all({key: content}, instead=False)
        return self.get(key) or b""

    def put_all(self, entries: Mapping[bytes, bytes], example: bytes = b"", *, instead: bool = True) -> None:
        """Keep some that belong together: all of them, or none.

        What resembles `example` takes little room. `instead`: of what was there.
        """
        connection = None if self._at_limit else self._connected()
        if connection is None:
            return
        values: list[object] = []
        added = 0
        for key, content in entries.items():
            key, packed = key[:_KEY_BYTES], compressed(content, example=example)
            values += (key, packed, _mark(key, packed), len(packed))
            added += len(packed)
        with self._explained():
            rows = ", ".join(["(?, ?, ?, ?)"] * len(entries))
            otherwise = "REPLACE" if instead else "IGNORE"
            connection.execute(f"INSERT OR {otherwise} INTO entries VALUES {rows}", values)
            self._added += added
            if self._added > self.limit_bytes // 16:
                self._added = 0
                self._at_limit = self._own(connection) > GROWS * self.limit_bytes

    def info(self) -> CacheInfo:
        """What it holds; the file is not made by asking."""
        entries = held = 0
        connection = self._connected() if self.path.exists() else None
        if connection is not None:
            with self._explained():
                entries, held = connection.execute(
                    "SELECT count(*), coalesce(sum(bytes), 0) FROM entries"
                ).fetchone()
        return CacheInfo(self.path, entries, held, self.limit_bytes, self.problem)

    def clear(self) -> CacheInfo:
        """Forget everything; returns what it held. Raises `OSError` where the file cannot be removed."""
        held = self.info()
        self.close()
        self._remove()
        self.problem = ""
        return held

    def close(self) -> None:
        """It may be used afterwards."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def trim(self) -> None:
        """At the end of a run: within the limit again, or what the run has used where that is more. Of the
        rest goes first what was kept first."""
        connection = self._connected() if self.path.exists() else None
        if connection is None:
            return
        with self._explained():
            (held,) = connection.execute("SELECT coalesce(sum(bytes), 0) FROM entries").fetchone()
            own = self._own(connection)
            if held <= max(self.limit_bytes, own):
                return
            over, used = held - max(own, round(self.limit_bytes * _KEEP)), set(self._hit_rows)
            rows = connection.execute(
                "SELECT rowid, bytes FROM entries WHERE rowid <= ? ORDER BY rowid", (self._last_row,)
            ).fetchall()
            connection.execute("BEGIN")
            for row, size in rows:
                if over > 0 and row not in used:
                    connection.execute("DELETE FROM entries WHERE rowid = ?", (row,))
                    over -= size
            connection.execute("COMMIT")
            connection.execute("VACUUM")

    # The file -------------------------------------------------------------------------------------

    def _own(self, connection: sqlite3.Connection) -> int:
        """Bytes of what this run has used and, in whatever process, kept."""
        query = "SELECT coalesce(sum(bytes), 0) FROM entries WHERE rowid > ?"
        return self._hit_bytes + int(connection.execute(query, (self._last_row,)).fetchone()[0])

    def _begins(self) -> sqlite3.Connection | None:
        """Where there is a file, it is open; what comes from now on is of this run."""
        if self.path.exists():
            return self._connected()
        self._last_row = self._last_row or 0
        return None

    def _connected(self) -> sqlite3.Connection | None:
        """None where there is none to be had."""
        if self._connection is None and not self.problem:
            with self._explained():
                self._connection = self._opened()
        return self._connection

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """An error of the file ends the block, and nothing more."""
        import sqlite3

        try:
            yield
        except sqlite3.OperationalError as error:  # locked, full, read-only: it may hold good entries
            self._give_up(str(error))
        except sqlite3.DatabaseError:  # no database, or a damaged one: begun anew by the next who asks
            self.close()
            try:
                self._remove()
            except OSError as error:
                self._give_up(error.strerror or str(error))
        except OSError as error:
            self._give_up(error.strerror or str(error))

    def _opened(self) -> sqlite3.Connection:
        import os
        import sqlite3

        from trnbench.store.path import make_folder

        if not self.path.exists():
            with suppress(StoreError):  # the usual folder is made; of one that was named, the next line tells
                make_folder(self.path.with_name(self.path.name.removesuffix(SUFFIX)))
            # Before SQLite makes it: results may be nobody else's business.
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))
        connection = sqlite3.connect(self.path, timeout=_BUSY_MS / 1000, isolation_level=None)
        try:
            self._lay_out(connection)
            if self._last_row is None:
                last = connection.execute("SELECT coalesce(max(rowid), 0) FROM entries").fetchone()
                self._last_row = last[0]
            connection.execute("PRAGMA synchronous = OFF")  # what a loss of power takes can be had again
        except BaseException:
            connection.close()
            raise
        return connection

    def _lay_out(self, connection: sqlite3.Connection) -> None:
        """Make the table where there is none.

        SQLite does not wait for another process that makes the file, or closes it, at the same moment: we do.
        """
        import sqlite3
        import time

        until = time.monotonic() + _BUSY_MS / 1000
        while True:
            try:
                layout = connection.execute("PRAGMA user_version").fetchone()[0]
                if layout not in (0, _LAYOUT):
                    raise sqlite3.DatabaseError(f"layout {layout}")
                if layout == 0:
                    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
                    connection.execute("PRAGMA journal_mode = WAL")  # kept in the file
                    connection.execute(_TABLE)
                    connection.execute(f"PRAGMA user_version = {_LAYOUT}")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.005)

    def _give_up(self, why: str) -> None:
        self.problem = why
        self.close()

    def _remove(self) -> None:
        for name in (self.path.name, f"{self.path.name}-wal", f"{self.path.name}-shm"):
            self.path.with_name(name).unlink(missing_ok=True)


def _restored(packed: bytes, example: bytes) -> bytes:
    """The document of `compressed`. Raises `zlib.error` where it is damaged, or had another example."""
    unpacker = zlib.decompressobj(zdict=example)
    document = unpacker.decompress(packed)
    if not unpacker.eof:
        raise zlib.error("it has no end")
    return document


def _mark(key: bytes, packed: bytes) -> bytes:
    return blake2b(key + packed, digest_size=_MARK_BYTES).digest()


_READERS = ("trnbench.facts", "trnbench.bounded")
"""Packages that make books and tables of files, and refuse them."""

T = TypeVar("T")


class RememberedFiles:
    """Books and cost tables by the contents of their files. Only what was read well is kept."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._together = False

    @contextmanager
    def together(self) -> Iterator[None]:
        """The file is opened once."""
        self._together = True
        try:
            yield
        finally:
            self._together = False
            self._cache.close()

    def read(
        self, kind: str, files: Files, type_: type[T], parse: Callable[[], T], by: Sequence[str] = ()
    ) -> T:
        key = digest_of(kind, packages_digest((*_READERS, *by)), files.digest)
        try:
            content = self._cache.get(key)
            if content is not None:
                with suppress(msgspec.MsgspecError, UnicodeDecodeError):  # else it is read anew
                    return msgspec.msgpack.decode(content, type=type_)
            found = files.read(parse)
            content = msgspec.msgpack.encode(found)
            # TOML has dates, which would come back as text.
            if files.steady and _comes_back(found, content, type_):
                self._cache.put(key, content)
            return found
        finally:
            # Commands carry cases out in copies of their process, and no connection survives that.
            if not self._together:
                self._cache.close()


def _comes_back(found: T, content: bytes, type_: type[T]) -> bool:
    again = msgspec.msgpack.decode(content, type=type_)
    return again == found and msgspec.msgpack.encode(again) == content
