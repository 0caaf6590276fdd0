"""Threads of the library that multiplies NumPy's matrices."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

_NAMES = ("scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_", "openblas_{}_num_threads")


@contextmanager
def one_thread() -> Iterator[None]:
    """While open, OpenBLAS computes in one thread, where NumPy has it.

    Others spin while they wait, which takes longer than the product of two tiles.
    """
    # Even where nothing changes a library would start its threads again after a fork.
    before = [(change, count) for ask, change in _libraries() if (count := ask()) != 1]
    for change, _ in before:
        change(1)
    try:
        yield
    finally:
        for change, count in before:
            change(count)


@cache
def _libraries() -> tuple[tuple[Any, Any], ...]:
    """Of each that is loaded, the functions that tell and set how many threads it has."""
    try:
        maps = Path("/proc/self/maps").read_text().splitlines()
    except OSError:  # not Linux
        return ()
    files = {line.split(maxsplit=5)[5] for line in maps if "openblas" in line}
    return tuple(
        (library[name.format("get")], library[name.format("set")])
        for library in map(ctypes.CDLL, files)
        for name in _NAMES
        if hasattr(library, name.format("set")) and hasattr(library, name.format("get"))
    )
