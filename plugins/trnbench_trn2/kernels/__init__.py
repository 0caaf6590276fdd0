"""Micro-benchmarks of what starts with Trainium2."""

from __future__ import annotations

from collections.abc import Iterator

from trnbench import Kernel
from trnbench_trn2.kernels import across, descriptors, exchange, modes, rows, transposing


def kernels() -> Iterator[Kernel]:
    """In the order in which reports show them."""
    for each in (modes, rows, exchange, descriptors, transposing, across):
        yield from each.kernels()
