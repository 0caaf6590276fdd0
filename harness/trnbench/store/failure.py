"""What can go wrong with the file of a store, in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from trnbench.errors import StoreError
from trnbench.store.journal import journals

if TYPE_CHECKING:
    import sqlite3


class StoreBusy(StoreError):
    """The store takes nothing for a while: it is locked, or the disk is full."""


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """SQLite's errors as `StoreError`, naming the file and what to do."""
    import sqlite3

    try:
        yield
    except sqlite3.Error as error:
        raise _translate(path, error) from error
    except UnicodeDecodeError as error:  # of a text in the file, or of SQLite's message about one
        raise damaged(path, str(error)) from error
    except OSError as error:
        raise StoreError(
            f"cannot open the store {path}: {error.strerror or error}",
            cause="a folder on the way cannot be entered, or the disk does not answer",
            try_="name another file with --store",
        ) from error


def another_file(path: Path) -> str:
    """What to do about a file that is no store: beside journals it may have been one."""
    beside = "; journals are beside it: trnbench store repair" if any(journals(path)) else ""
    return f"name another file with --store{beside}"


def damaged(path: Path, how: str) -> StoreError:
    """What to say of a database that holds what SQLite, or this program, never wrote."""
    return StoreError(
        f"the store {path} is damaged: {how}",
        cause="the disk failed, or the file was copied while it was written to; it was left as it is",
        try_="trnbench store repair",
    )


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
            try_=another_file(path),
        )
    if any(word in text for word in ("malformed", "corrupt", "unsupported file format", "not decode")):
        return damaged(path, text)
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
