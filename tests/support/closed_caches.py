"""Caches that a test makes, closed after it: from Python 3.13 on one that is left open is a warning."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from trnbench.store.cache import Cache


@pytest.fixture
def closed_caches(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    begin = Cache._begin
    caches = []

    def noted(cache: Cache) -> None:
        caches.append(cache)
        begin(cache)

    monkeypatch.setattr(Cache, "_begin", noted)
    yield
    for cache in caches:
        cache.close()
