"""Stores and caches that a test opens, closed after it: from Python 3.13 on one left open is a warning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from trnbench.store.cache import Cache
from trnbench.store.database import StoreFile


@pytest.fixture
def closed_files(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    files: list[Cache | StoreFile] = []

    def noting(begin: Any) -> Any:
        def noted(file: Cache | StoreFile, *arguments: Any, **options: Any) -> None:
            files.append(file)
            begin(file, *arguments, **options)

        return noted

    monkeypatch.setattr(Cache, "_begin", noting(Cache._begin))
    monkeypatch.setattr(StoreFile, "__init__", noting(StoreFile.__init__))
    yield
    for file in files:
        file.close()
