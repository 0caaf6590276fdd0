"""The kernels that come with trnbench, through the door every plugin uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import trnbench

if TYPE_CHECKING:
    from trnbench import Kernel


@trnbench.hookimpl
def trnbench_kernels() -> Iterator[Kernel]:
    """Every family, in the order in which reports show their kernels."""
    from trnbench_kernels import engine, fabric, matrix, memory, operator

    for family in (
        matrix.products,
        memory.streams,
        memory.transfers,
        engine.tensor_products,
        engine.instructions,
        operator.normalisations,
        operator.attention,
        operator.scans,
        matrix.transposes,
        memory.host_copies,
        fabric.collectives,
        fabric.dispatches,
        operator.experts,
        fabric.pair_transfers,
    ):
        yield from family()
