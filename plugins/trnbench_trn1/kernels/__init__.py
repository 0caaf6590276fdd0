"""Micro-benchmarks of Trainium1: its own language, its 8-bit floats, its way with fp32."""

from __future__ import annotations

from collections.abc import Iterator

from trnbench import Kernel, Variant
from trnbench_trn1.kernels import beta1, cfp8, passes


def kernels() -> Iterator[Kernel | Variant]:
    """In the order in which reports show them."""
    yield from beta1.variants()
    for each in (beta1, cfp8, passes):
        yield from each.kernels()
