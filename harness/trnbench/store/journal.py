"""A run's own file: an append-only chain of records beside the store, the first to know of a case.

The file starts with the line `trnbench journal 1`. A record follows the other: the line

    KIND LENGTH DIGEST

then LENGTH bytes and a newline. DIGEST is the SHA-256, in hexadecimal digits, of the digest of the
record before (64 zeros for the first), the kind and the bytes: what was cut off, changed or put in
anywhere ends the chain there. The bytes are a line of JSON and, behind it, a document (zlib of JSON).

Space is reserved ahead where the system can, in zeros that the chain ends before. A record is on its
way to the disk when `append` returns, so a killed process loses none; `sync` makes it outlast the
power.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import re
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from trnbench.errors import StoreError

MAGIC = b"trnbench journal 1\n"
SUFFIX = ".journal"
DAMAGED = ".damaged"
NEW = ".new"

OLD_S = 60.0
"""A journal that did not come to its first case is removed at this age: its writer may not have locked it
yet."""

AHEAD = 1 << 20
"""Bytes reserved at a time."""

LAST_WORDS = 1 << 16
"""Bytes of what is reserved that only the record of the end may use."""

_HEADER = re.compile(rb"([a-z]+) ([0-9]{1,12}) ([0-9a-f]{64})\n")
_NEXT = re.compile(rb"\n" + _HEADER.pattern)
_LONGEST_HEADER = 100
_START = b"0" * 64
_ENCODER = json.JSONEncoder(separators=(",", ":"))
_UNABLE = (errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS, errno.ENODEV)


class JournalFull(StoreError):
    """The journal cannot take another record; all before it are safe."""


class JournalInUse(StoreError):
    """Another process is writing it: the run is under way."""


class JournalRecord(NamedTuple):
    """One link of the chain; `end` is the byte behind it."""

    kind: str
    meta: dict[str, Any]
    document: bytes  # zlib of JSON, or nothing
    end: int

    def inflated(self) -> bytes:
        """Raises `zlib.error` for what is no document."""
        return zlib.decompress(self.document)


class Chain(NamedTuple):
    """What a journal holds: its whole records, where they end, and how many bytes behind that are none."""

    records: tuple[JournalRecord, ...]
    end: int
    digest: bytes
    lost: int


def journal_folder(store: Path) -> Path:
    """Where the journals of the runs in `store` are."""
    return store.with_name(store.name + ".journals")


def journal_path(store: Path, run_id: str) -> Path:
    """The journal of a run, there or not."""
    return journal_folder(store) / f"{quote(run_id, safe='')[:200]}{SUFFIX}"


def read_chain(data: bytes) -> Chain:
    """The whole records of a journal, up to the first that is torn or changed."""
    if not data.startswith(MAGIC):
        return Chain((), 0, _START, len(data.rstrip(b"\0")))
    at, digest, found = len(MAGIC), _START, []
    while record := _record(data, at, digest):
        one, digest = record
        found.append(one)
        at = one.end
    return Chain(tuple(found), at, digest, len(data[at:].rstrip(b"\0")))


def _record(data: bytes, at: int, before: bytes) -> tuple[JournalRecord, bytes] | None:
    header = _HEADER.match(data, at, at + _LONGEST_HEADER)
    if header is None:
        return None
    kind, length, digest = header[1], int(header[2]), header[3]
    payload = data[header.end() : header.end() + length]
    end = header.end() + length + 1
    if len(payload) < length or data[end - 1 : end] != b"\n" or _digest(before, kind, payload) != digest:
        return None
    meta, _, document = payload.partition(b"\n")
    try:
        told = json.loads(meta)
    except ValueError:  # a chain of ours never holds such a record
        return None
    return JournalRecord(kind.decode(), told, document, end), digest


def _digest(before: bytes, kind: bytes, payload: bytes) -> bytes:
    return hashlib.sha256(b"%s%s %s" % (before, kind, payload)).hexdigest().encode()


class Journal:
    """A journal open for writing, by one process at a time. Close it, or use it as a context manager."""

    def __init__(self, path: Path, descriptor: int, end: int, digest: bytes) -> None:
        self.path, self.end = path, end
        self._descriptor, self._digest = descriptor, digest
        self._reserved = 0
        self._can_reserve = hasattr(os, "posix_fallocate")

    @classmethod
    def create(cls, path: Path) -> Journal:
        """A new one. Raises `StoreError` where the folder refuses or the disk is full."""
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise _refused(path, error) from error
        journal = cls(path, descriptor, len(MAGIC), _START)
        try:
            journal._lock()
            journal._write(MAGIC, 0)
            journal._reserve(len(MAGIC) + LAST_WORDS)
        except BaseException as error:
            journal.close()
            path.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise _refused(path, error) from error
            raise
        return journal

    @classmethod
    def reopen(cls, path: Path) -> tuple[Journal, Chain]:
        """An earlier one, its torn end cut off, and what it holds.

        Where whole records stand behind a torn one the file was damaged, not cut short: all of it is
        kept as `NAME.damaged`. Raises `JournalInUse` while another process writes it, `StoreError`
        where it cannot be opened or holds nothing.
        """
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise _refused(path, error) from error
        journal = cls(path, descriptor, 0, _START)
        try:
            journal._lock()
            if not os.fstat(descriptor).st_nlink:  # removed while this waited for it
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            data = path.read_bytes()
            chain = read_chain(data)
            if not chain.records:
                raise StoreError(
                    f"{path} holds no run",
                    cause="it was cut off before its first record was whole, or it is something else",
                    try_="remove it, if it is not needed",
                )
            if _NEXT.search(data, chain.end):
                _put_aside(path, data)
            journal.end, journal._digest = chain.end, chain.digest
        except BaseException as error:
            os.close(descriptor)
            if isinstance(error, OSError):
                raise _refused(path, error) from error
            raise
        return journal, chain

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, kind: str, meta: dict[str, Any], document: bytes = b"", *, last: bool = False) -> None:
        """One record more. Raises `JournalFull` when the disk has no room for it; nothing of it stays.

        The `last` one of a run may use the space that is kept for it.
        """
        payload = _ENCODER.encode(meta).encode() + b"\n" + document
        digest = _digest(self._digest, kind.encode(), payload)
        record = b"%s %d %s\n%s\n" % (kind.encode(), len(payload), digest, payload)
        try:
            self._reserve(self.end + len(record) + (0 if last else LAST_WORDS))
            self._write(record, self.end)
        except OSError as error:
            with contextlib.suppress(OSError):
                self._cut()
            raise JournalFull(
                f"the journal {self.path} cannot grow: {error.strerror or error}",
                cause="the disk is full, or a limit on the size of files or on this user's share is reached",
                try_="make room there, or name a store on another disk with --store",
            ) from error
        self.end += len(record)
        self._digest = digest

    def rename(self, path: Path) -> None:
        """Another name in the same folder, which outlasts the power. Raises `StoreError`."""
        try:
            self.path = self.path.rename(path)
        except OSError as error:
            raise _refused(path, error) from error
        with contextlib.suppress(OSError):  # a file system that cannot
            folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def sync(self) -> None:
        """Until this returns, the power must not fail; from then on it may."""
        with contextlib.suppress(OSError):  # a file system that cannot; the record is written all the same
            os.fdatasync(self._descriptor)

    def close(self) -> None:
        """What was reserved and not used goes back. May be called twice."""
        if self._descriptor < 0:
            return
        with contextlib.suppress(OSError):
            self._cut()
        os.close(self._descriptor)
        self._descriptor = -1

    def _lock(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise JournalInUse(
                f"{self.path} is being written",
                cause="another trnbench is carrying out this run",
                try_="wait for it to end",
            ) from error
        except OSError:
            pass  # a file system without locks

    def _reserve(self, needed: int) -> None:
        """See that the file has `needed` bytes. Raises `OSError` when the disk does not have them."""
        if needed <= self._reserved or not self._can_reserve:
            return
        for size in (needed + AHEAD, needed):
            try:
                os.posix_fallocate(self._descriptor, 0, size)
            except OSError as error:
                if error.errno in _UNABLE:
                    self._can_reserve = False
                    return
                if size == needed:
                    raise
            else:
                self._reserved = size
                return

    def _write(self, data: bytes, at: int) -> None:
        """By position: what an interruption left half written is written over by the next record."""
        while data:
            written = os.pwrite(self._descriptor, data, at)
            data, at = data[written:], at + written

    def _cut(self) -> None:
        os.ftruncate(self._descriptor, self.end)
        self._reserved = self.end


def _put_aside(path: Path, data: bytes) -> None:
    """A copy of a damaged journal; an earlier copy stays."""
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path.with_name(path.name + DAMAGED), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)


def is_in_use(path: Path) -> bool:
    """Whether another process, or another part of this one, is writing the journal."""
    with contextlib.suppress(FileNotFoundError), path.open("rb") as stream:
        try:
            fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
    return False


def journals(store: Path) -> Iterator[os.DirEntry[str]]:
    """The journals beside a store, in no order."""
    try:
        with os.scandir(journal_folder(store)) as entries:
            yield from (entry for entry in entries if entry.name.endswith(SUFFIX) and entry.is_file())
    except FileNotFoundError:
        return
    except OSError as error:
        raise _refused(journal_folder(store), error) from error


def sweep(store: Path) -> None:
    """Remove what killed processes left of journals before their first case."""
    with contextlib.suppress(OSError):
        for left in journal_folder(store).glob(f"*{NEW}"):
            with contextlib.suppress(OSError):
                if left.stat().st_mtime < time.time() - OLD_S and not is_in_use(left):
                    left.unlink()


def _refused(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"cannot keep a journal at {path}: {error.strerror or error}",
        cause="the folder beside the store is full, missing or closed to this user",
        try_="name a store in another folder with --store",
    )
