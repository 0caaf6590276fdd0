"""Micro-benchmarks of what starts with Trainium3."""

from __future__ import annotations

from collections.abc import Iterator

from trnbench import Kernel, Variant
from trnbench_trn3.kernels import accumulate, exponential, microscaled, quantize, switch


def kernels() -> Iterator[Kernel | Variant]:
    """In the order in which reports show them."""
    yield from microscaled.variants()
    for each in (quantize, exponential, accumulate, switch):
        yield from each.kernels()
