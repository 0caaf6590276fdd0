"""The kernels that come with trnbench, through the door every plugin uses."""

from __future__ import annotations

from collections.abc import Iterator

import pluggy

from trnbench.kernels.families import (
    attention,
    collective,
    dma,
    engine,
    gemm,
    hbm,
    host_copy,
    moe,
    normalisation,
    pair,
    scan,
    tensor,
    transpose,
)
from trnbench.kernels.kernel import Kernel
from trnbench.kernels.torch_sources import with_torch

# The same marker as trnbench.hookimpl; kernels lie below the hooks and import nothing from there.
hookimpl = pluggy.HookimplMarker("trnbench")

FAMILIES = (
    gemm,
    hbm,
    dma,
    tensor,
    engine,
    normalisation,
    attention,
    scan,
    transpose,
    host_copy,
    collective,
    moe,
    pair,
)


@hookimpl
def trnbench_kernels() -> Iterator[Kernel]:
    """Every family, in the order in which reports show them."""
    for family in FAMILIES:
        yield from map(with_torch, family.kernels())
