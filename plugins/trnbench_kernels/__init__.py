"""The micro-benchmarks that every generation shares, with their NKI sources."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import trnbench

if TYPE_CHECKING:
    from trnbench import Kernel, Variant


@trnbench.hookimpl
def trnbench_kernels() -> Iterator[Kernel | Variant]:
    """In the order in which reports show them."""
    yield from trnbench.read_kernels(Path(__file__).with_name("kernels.toml"), __name__)
