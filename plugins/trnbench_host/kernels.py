"""The kernels of a processor, as `kernels.toml` has them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from trnbench import Kernel, Variant, read_kernels


def kernels() -> Iterator[Kernel | Variant]:
    """host_matmul, stream_*, transcendental, process_copy, pointer_chase."""
    return read_kernels(Path(__file__).with_name("kernels.toml"), __name__)
