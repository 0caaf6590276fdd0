"""Where results are kept: `--store`, else TRNBENCH_STORE, else the user's data folder; what fails there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from trnbench.errors import StoreError, quoted

if TYPE_CHECKING:
    import sqlite3


ENVIRONMENT = "TRNBENCH_STORE"


def default_path() -> Path:
    """`$XDG_DATA_HOME/trnbench/results.db`; a relative XDG_DATA_HOME is ignored, as its rules say.

    Raises `StoreError` where there is neither that nor a home folder.
    """
    data = os.environ.get("XDG_DATA_HOME", "")
    if data and os.path.isabs(data):
        return Path(data) / "trnbench" / "results.db"
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise StoreError(
            "there is no place of one's own to keep results in",
            cause="neither XDG_DATA_HOME nor HOME names a folder, and the system does not know this user",
            try_="--store ./results.db  keeps them in the working folder",
        )
    return Path(home) / ".local" / "share" / "trnbench" / "results.db"


def store_path(given: str | Path | None = None) -> Path:
    """The store that a command works on; nothing is created.

    Raises `StoreError` for a name that no message could show as it is, and for one that can only be a folder.
    """
    chosen = str(given) if given else os.environ.get(ENVIRONMENT, "")
    if not chosen.isprintable():
        raise StoreError(
            f"{quoted(chosen)} is no name of a store",
            cause=f"--store or {ENVIRONMENT} has a character in it that cannot be printed",
            try_="--store ./results.db",
        )
    # A user that nobody knows is left as it is written: a folder that does not exist.
    path = Path(os.path.expanduser(chosen)) if chosen else default_path()
    if not path.name:
        raise folder_in_place(path)
    if chosen and path.exists() and not path.is_file() and not path.is_dir():
        raise StoreError(
            f"cannot keep results at {path}: it is no file",
            cause=f"--store or {ENVIRONMENT} names a device, a pipe or a socket",
            try_="--store ./results.db",
        )
    return path


def folder_in_place(path: Path) -> StoreError:
    """What to say where a folder is in the place of the file."""
    return StoreError(
        f"cannot keep results at {path}: it is a folder",
        cause="--store or TRNBENCH_STORE names a folder, not a file",
        try_=f"--store {path / 'results.db'}",
    )


def check_named(path: Path) -> None:
    """Raises `StoreError` for a store in a folder that was named and is missing: it is not made for it."""
    folder = path.parent
    if not folder.is_dir() and path != default_path():
        raise StoreError(
            f"cannot keep results at {path}: the folder {folder} does not exist",
            cause=f"--store or {ENVIRONMENT} names a folder that is missing or misspelt",
            try_=f"mkdir -p {quote(str(folder))}",
        )


def make_folder(path: Path) -> None:
    """See that `path` can be created: only the default folder is made, never one that was named.

    Raises `StoreError` when the folder is missing or cannot be made.
    """
    check_named(path)
    folder = path.parent
    if folder.is_dir():
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot keep results at {path}: {error.strerror or error}",
            cause="the data folder cannot be created by this user",
            try_="--store ./results.db  keeps them in the working folder",
        ) from error


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
    from trnbench.store.journal import journals

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
        cache = path.with_name(path.name + ".cache")  # pruning needs room itself
        spare = f": rm {quote(str(cache))} costs no run" if cache.exists() else ""
        return StoreBusy(
            f"the store {path} cannot grow: {text}",
            cause="the disk is full, or it fails",
            try_=f"make room in {path.absolute().parent}{spare}, or name a file on another disk with --store",
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
