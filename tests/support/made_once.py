"""What is costly and the same for all tests of a session: made by the worker that asks first."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that `make` filled, whichever worker it did so in. No test may change what is in it."""
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # of the session
    folder = base / name
    with open(base / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            folder.mkdir()
            try:
                make(folder)
            except BaseException:
                folder.rename(base / f"{name}.failed.{os.getpid()}")
                raise
    return folder
