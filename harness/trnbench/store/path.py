"""Where results are kept: `--store`, else TRNBENCH_STORE, else the user's data folder."""

from __future__ import annotations

import os
from pathlib import Path

from trnbench.errors import StoreError, quoted

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
            try_=f"mkdir -p {folder}",
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
