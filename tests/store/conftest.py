"""A store of its own for each test, and one run to keep in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from stored_run import make_run

from trnbench import Run
from trnbench.store.store import Store


@pytest.fixture(autouse=True)
def _closed_files(closed_files: None) -> None: ...


@pytest.fixture(scope="module")
def run() -> Run:
    return make_run()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "results.db") as opened:
        yield opened


@pytest.fixture
def closed(store: Store, run: Run) -> Store:
    """With the run in it, and the file let go."""
    store.save(run)
    store.close()
    return store
