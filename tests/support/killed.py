"""A process killed with SIGKILL at a step that was counted in an undisturbed one.

Steps are what a program does to files: `pwrite 7` dies in the middle of the seventh write to a journal,
`commit 2` before the second transaction of the store ends, any other before it is done.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CALLS = (
    "pwrite",
    "fdatasync",
    "fsync",
    "ftruncate",
    "posix_fallocate",
    "open",
    "mkdir",
    "chmod",
    "rename",
    "replace",
    "unlink",
)


def kill_at(step: str, number: int) -> None:
    """From here on: the process dies at the `number`-th such step, counted from 1."""
    left = {step: number}

    def reached(name: str) -> bool:
        left[name] = left.get(name, 0) - 1
        return left[name] == 0

    _watch(reached)


def count_steps(path: str) -> None:
    """From here on steps are counted; at the end they are in the file `path`, as JSON."""
    counts: Counter[str] = Counter()

    def reached(name: str) -> bool:
        counts[name] += 1
        return False

    write = Path(path).write_text
    atexit.register(lambda: write(json.dumps(dict(counts))))
    _watch(reached)


def _watch(reached: Callable[[str], bool]) -> None:
    for name in CALLS:
        setattr(os, name, _watched(name, getattr(os, name), reached))
    _watch_transactions(reached)


def _watched(name: str, real: Callable[..., Any], reached: Callable[[str], bool]) -> Callable[..., Any]:
    def call(*arguments: Any, **more: Any) -> Any:
        if reached(name):
            if name == "pwrite":
                descriptor, data, at = arguments
                real(descriptor, data[: len(data) // 2], at)
            _die()
        return real(*arguments, **more)

    return call


def _watch_transactions(reached: Callable[[str], bool]) -> None:
    from trnbench.store import database

    transaction = database.transaction

    @contextmanager
    def watched(connection: sqlite3.Connection) -> Iterator[None]:
        with transaction(connection):
            yield
            if reached("commit"):
                _die()

    database.transaction = database.transaction = watched  # type: ignore[assignment]


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def alive(pid: int) -> bool:
    """Running, or stopped: not a zombie that nobody has collected."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
