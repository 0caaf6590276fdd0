"""The kernels that come with trnbench, through the door every plugin uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING

import trnbench

if TYPE_CHECKING:
    from trnbench import Kernel

FAMILIES = (
    "gemm",
    "hbm",
    "dma",
    "tensor",
    "engine",
    "normalisation",
    "attention",
    "scan",
    "transpose",
    "host_copy",
    "collective",
    "moe",
    "pair",
)
"""Modules of `trnbench_kernels.families`, in the order in which reports show their kernels."""


@trnbench.hookimpl
def trnbench_kernels() -> Iterator[Kernel]:
    """Every family."""
    for family in FAMILIES:
        found: Iterable[Kernel] = import_module(f"trnbench_kernels.families.{family}").kernels()
        yield from found
