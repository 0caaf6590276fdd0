"""The kernels that come with trnbench, through the door every plugin uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from trnbench.kernels.kernel import Kernel

# The same marker as trnbench.hookimpl; kernels lie below the hooks and import nothing from there.
hookimpl = pluggy.HookimplMarker("trnbench")

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


@hookimpl
def trnbench_kernels() -> Iterator[Kernel]:
    """Every family."""
    from trnbench_kernels.torch_sources import with_torch

    for family in FAMILIES:
        found: Iterable[Kernel] = import_module(f"trnbench_kernels.families.{family}").kernels()
        yield from map(with_torch, found)
