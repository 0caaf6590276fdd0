"""Micro-benchmarks of Trainium1, as `kernels.toml` has them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from trnbench import Kernel, Variant, read_kernels


def kernels() -> Iterator[Kernel | Variant]:
    """In the order in which reports show them."""
    return read_kernels(Path(__file__).with_name("kernels.toml"), __name__)
