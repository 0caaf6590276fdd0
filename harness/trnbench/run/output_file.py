"""Files for people: written whole or not at all, and never over something that is not ours."""

from __future__ import annotations

import errno
import fcntl
import os
import sys
import time
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import BinaryIO

from trnbench.errors import UsageError
from trnbench.isolation.surroundings import umask

PART = ".part"

READER_S = 2.0
"""For a program that reads a pipe to open it, from when the output is ready."""

YOUNG_S = 1.0
"""A half-written file of this age is left alone: its writer may not have claimed it yet."""

_STDOUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
_OPEN_FILES = ("/dev/std", "/dev/fd/", "/proc/")
START = 4096
"""Bytes of a page that tell whose it is."""


def check_writable(
    path: Path, *, force: bool = False, option: str = "-o", example: str = "trnbench-report.html"
) -> None:
    """See that `path` can be written later: asked before the work starts, not after it.

    An earlier report or trace of trnbench may be replaced, anything else only with `force`. `option`
    is what named the path. Raises `UsageError` that names the path and what to do.
    """
    if str(path) == "-" and option != "-o":
        raise UsageError(
            f"{option} - names no file",
            cause="stdout carries what the command prints",
            try_=f"{option} {example}",
        )
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
            try_=f"mkdir -p {quote(str(folder))}",
        )
    if _is_loop(path):
        raise UsageError(
            f"cannot write {path}: it is a link that leads back to itself",
            cause="links that name each other lead to no file",
            try_=f"rm {quote(str(path))}, or name another file with {option}",
        )
    if _is_special(path):
        if not os.access(path, os.W_OK):
            raise _denied(path, option)
        return
    _sweep(path)
    if not os.access(folder, os.W_OK | os.X_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise _denied(path, option)
    if path.exists() and not force and not _replaceable(path):
        raise UsageError(
            f"{path} exists and is no {'report' if option == '-o' else 'file'} of trnbench",
            cause="it is not overwritten, in case it is needed",
            try_=f"--force  overwrites it; or name another file with {option}",
        )


def write_whole(path: Path, data: bytes, *, option: str = "-o") -> None:
    """Replace `path` by `data` in one step; a pipe or device is written to as it is.

    Raises `UsageError` when the disk, the folder or the reader refuses.
    """
    if _is_special(path):
        _pour(path, data, option)
        return
    import tempfile  # brings shutil and its compressors along

    # A link is followed: the file it names is replaced, not the link.
    target = path.resolve()
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(prefix=_prefix(target), suffix=PART, dir=target.parent)
        with os.fdopen(handle, "wb") as stream:
            _claim(stream.fileno())
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
            os.chmod(temporary, target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~umask())
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


def _pour(path: Path, data: bytes, option: str) -> None:
    try:
        # To the end: behind /dev/stdout may be a file that others write to as well.
        with _opened(path) as stream:
            stream.write(data)
    except BrokenPipeError as error:
        raise UsageError(
            f"cannot write {path}: its reader went away",
            cause="the program at the other end of the pipe ended before it had read everything",
            try_=f"name a file with {option}",
        ) from error
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise UsageError(
                f"cannot write {path}: nobody reads it",
                cause=f"it is a pipe, and no program opened its other end within {READER_S:g} s",
                try_=f"cat {path} in another shell first, or name a file with {option}",
            ) from error
        raise UsageError(
            f"cannot write {path}: {error.strerror or error}",
            cause="it is no file, and what is behind it takes no more",
            try_=f"name a file with {option}",
        ) from error


def _opened(path: Path) -> BinaryIO:
    """Raises `OSError` (ENXIO) for a pipe that nobody reads: opening it would wait for ever."""
    if names_stdout(path):
        with suppress(OSError, ValueError, AttributeError):
            # Where the data go, which need not be descriptor 1.
            path = Path(f"/dev/fd/{sys.stdout.fileno()}")
    deadline = time.monotonic() + READER_S
    while True:
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
            descriptor = os.open(path, flags)
        except OSError as error:
            if error.errno != errno.ENXIO or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            os.set_blocking(descriptor, True)
            return os.fdopen(descriptor, "ab")


def names_stdout(path: Path) -> bool:
    """Whether it stands for stdout: `-`, or a name that the system has for it."""
    return str(path) == "-" or str(path.absolute()) in _STDOUT


def _is_special(path: Path) -> bool:
    """Whether there is nothing to replace: a pipe, a device, a name of an open file (/dev/stdout)."""
    open_file = str(path.absolute()).startswith(_OPEN_FILES)
    return path.exists() and not path.is_dir() and (not path.is_file() or open_file)


def _is_loop(path: Path) -> bool:
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def _prefix(target: Path) -> str:
    return f".{target.name[:100]}."


def _claim(descriptor: int) -> None:
    """Marks a file as being written, for `_sweep`; gone with the process, however it ends."""
    with suppress(OSError):  # a file system without locks
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sweep(path: Path) -> None:
    """Remove what a killed process left half written in place of `path`."""
    target = path.resolve()
    before = time.time() - YOUNG_S
    with suppress(OSError):
        for name in os.listdir(target.parent):
            if not (name.startswith(_prefix(target)) and name.endswith(PART)):
                continue
            left = target.parent / name
            with suppress(OSError), left.open("rb") as stream:
                if left.stat().st_mtime < before:
                    fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
                    left.unlink()


def _denied(path: Path, option: str) -> UsageError:
    return UsageError(
        f"cannot write {path}: permission denied",
        cause="the file or its folder is read-only for this user",
        try_=f"name a file elsewhere with {option}",
    )


def _replaceable(path: Path) -> bool:
    """Whether the file is empty, or a page, a drawing or a trace that trnbench wrote."""
    try:
        with path.open("rb") as stream:
            start = stream.read(START).lower()
    except OSError:
        return False
    ours = start.lstrip().startswith((b"<!doctype html", b"<svg", b'{"displaytimeunit"'))
    return not start or (ours and b"trnbench" in start)
