"""Workers that cost no start: what a test asks of them is seldom how they start.

Started as they are for a user: wherever a test starts a command, and in tests marked `spawned`.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Iterator
from multiprocessing.forkserver import _forkserver as server
from typing import Any

import pytest
from copied_process import LOADED, CopyingContext


@pytest.fixture(scope="session")
def _copying() -> Iterator[CopyingContext]:
    server.set_forkserver_preload([*LOADED])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(each for each in sys.path if each))
        server.ensure_running()
    yield CopyingContext()
    server._stop()  # type: ignore[attr-defined]  # and waits for it


@pytest.fixture(autouse=True)
def _quick_workers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """`get_context("spawn")` gives what copies; what is copied starts where it is wanted first."""
    if "spawned" in request.keywords:
        return
    usual = multiprocessing.get_context

    def get_context(method: str | None = None) -> Any:
        if method != "spawn":
            return usual(method)
        return request.getfixturevalue("_copying")

    monkeypatch.setattr(multiprocessing, "get_context", get_context)
