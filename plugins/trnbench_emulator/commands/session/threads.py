"""Threads of the library that multiplies NumPy's matrices."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from pathlib import Path

_SETTERS = ("scipy_openblas_set_num_threads64_", "openblas_set_num_threads64_", "openblas_set_num_threads")


def one_thread() -> None:
    """From now on OpenBLAS computes in one thread, where NumPy has it.

    Others spin while they wait, which each process that is forked pays for.
    """
    with suppress(OSError):
        maps = Path("/proc/self/maps").read_text().splitlines()
        files = {line.split(maxsplit=5)[5] for line in maps if "openblas" in line}
        for file in files:
            library = ctypes.CDLL(file)
            for name in _SETTERS:
                if hasattr(library, name):
                    getattr(library, name)(1)
