"""nki.isa: one call, one instruction."""

from __future__ import annotations

from typing import Any

from trnbench.nki.isa.arithmetic import (
    activation,
    reciprocal,
    scalar_tensor_tensor,
    tensor_reduce,
    tensor_scalar,
    tensor_tensor,
)
from trnbench.nki.isa.constants import dge_mode, engine, matmul_perf_mode, nc_version, oob_mode, reduce_cmd
from trnbench.nki.isa.matmul import nc_matmul, nc_transpose
from trnbench.nki.isa.move import dma_copy, memset, tensor_copy
from trnbench.nki.names import refuse
from trnbench.nki.recorder import current


def get_nc_version() -> int:
    """The generation the kernel runs for: nc_version.gen2, gen3, gen4."""
    version = current().machine.nc_version
    return nc_version(version) if version in set(nc_version) else version


__all__ = [
    "activation",
    "dge_mode",
    "dma_copy",
    "engine",
    "get_nc_version",
    "matmul_perf_mode",
    "memset",
    "nc_matmul",
    "nc_transpose",
    "nc_version",
    "oob_mode",
    "reciprocal",
    "reduce_cmd",
    "scalar_tensor_tensor",
    "tensor_copy",
    "tensor_reduce",
    "tensor_scalar",
    "tensor_tensor",
]


def __getattr__(name: str) -> Any:
    raise refuse("nki.isa", name, __all__)
