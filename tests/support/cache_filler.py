"""Another process that fills a cache."""

from __future__ import annotations

from pathlib import Path

from trnbench.store.cache import Cache


def fill(store: Path, own: int) -> None:
    cache = Cache(store)
    for number in range(100):
        cache.put(f"{own}:{number}".encode(), f"{own}:{number}".encode() * 50)
        assert cache.get(f"{own}:{number}".encode()) is not None
    cache.close()
