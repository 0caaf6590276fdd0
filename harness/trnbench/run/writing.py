"""Files for people: written whole or not at all, and never over something that is not ours."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from trnbench.errors import UsageError

_LOOK_AT = 4096


def check_writable(
    path: Path, *, force: bool = False, option: str = "-o", example: str = "trnbench-report.html"
) -> None:
    """See that `path` can be written later: asked before the work starts, not after it.

    An earlier report or trace of trnbench may be replaced, anything else only with `force`. `option`
    is what named the path. Raises `UsageError` that names the path and what to do.
    """
    folder = path.parent
    if path.is_dir():
        raise UsageError(
            f"cannot write {path}: it is a folder",
            cause=f"{option} takes the name of a file",
            try_=f"{option} {path / example}",
        )
    if not folder.is_dir():
        raise UsageError(
            f"cannot write {path}: the folder {folder} does not exist",
            cause=f"{option} names a folder that is missing or misspelt",
            try_=f"mkdir -p {folder}",
        )
    special = path.exists() and not path.is_file()  # a pipe, /dev/null: nothing to replace
    if special:
        return
    if not os.access(folder, os.W_OK | os.X_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise UsageError(
            f"cannot write {path}: permission denied",
            cause="the file or its folder is read-only for this user",
            try_=f"name a file elsewhere with {option}",
        )
    if path.exists() and not force and not _replaceable(path):
        raise UsageError(
            f"{path} exists and is no {'report' if option == '-o' else 'file'} of trnbench",
            cause="it is not overwritten, in case it is needed",
            try_=f"--force  overwrites it; or name another file with {option}",
        )


def write_whole(path: Path, data: bytes, *, option: str = "-o") -> None:
    """Replace `path` by `data` in one step. Raises `UsageError` when the disk or folder refuses."""
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:
            stream.write(data)
        return
    # A link is followed: the file it names is replaced, not the link.
    target = path.resolve()
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(
            prefix=f".{target.name[:100]}.", suffix=".part", dir=target.parent
        )
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask())
        os.replace(temporary, target)
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror or error}",
            cause="the disk is full, or the folder went away or became read-only",
            try_=f"name a file elsewhere with {option}",
        ) from error
    finally:
        if temporary:
            with suppress(FileNotFoundError):
                os.unlink(temporary)


def _replaceable(path: Path) -> bool:
    """Whether the file is empty, or an HTML page or a trace that trnbench wrote."""
    try:
        with path.open("rb") as stream:
            start = stream.read(_LOOK_AT).lower()
    except OSError:
        return False
    ours = start.lstrip().startswith((b"<!doctype html", b'{"displaytimeunit"'))
    return not start or (ours and b"trnbench" in start)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
