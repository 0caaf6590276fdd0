"""Emptying the caches of the measuring machine: what cold means, declared in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from trnbench.facts.format import show

LARGEST = 1 << 30
"""Bytes written at most: a cache that reports more than this (shared by machines) stays partly warm."""


class Flush(msgspec.Struct, frozen=True, kw_only=True):
    """`run` makes caches cold; `declared` says by what, in the result."""

    run: Callable[[], Any]
    declared: str


def host_flush(cache_bytes: float, *, allowed: int = LARGEST) -> Flush:
    """Writes a buffer larger than the last-level cache (64 MiB where its size is unknown)."""
    import numpy as np

    wanted = int(max(64 << 20, cache_bytes * 1.25))
    size = min(wanted, allowed)
    buffer = np.zeros(size // 8, dtype=np.int64)

    def run() -> None:
        np.add(buffer, 1, out=buffer)

    cache = f"the last-level cache of {show(cache_bytes, 'B')}" if cache_bytes else "an unknown cache"
    words = f"{show(size, 'B')} read and written, against {cache}"
    if size < wanted and cache_bytes > size:
        words += ": less than the cache, partly warm"
    return Flush(run=run, declared=words)
