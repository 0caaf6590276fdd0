"""nki.isa: one call, one instruction."""

from __future__ import annotations

from typing import Any

from trnbench_emulator.nki.isa.activation import (
    activate2,
    activation,
    activation_reduce,
    exponential,
    reciprocal,
)
from trnbench_emulator.nki.isa.arithmetic import (
    scalar_tensor_tensor,
    tensor_reduce,
    tensor_scalar,
    tensor_tensor,
)
from trnbench_emulator.nki.isa.constants import (
    dge_mode,
    dma_engine,
    engine,
    gpsimd_engine,
    matmul_perf_mode,
    nc_version,
    oob_mode,
    reduce_cmd,
    scalar_engine,
    tensor_engine,
    unknown_engine,
    vector_engine,
)
from trnbench_emulator.nki.isa.gather import (
    local_gather,
    nc_n_gather,
    nc_stream_shuffle,
    nonzero_with_count,
    sequence_bounds,
    topk,
)
from trnbench_emulator.nki.isa.matmul import nc_matmul, nc_transpose
from trnbench_emulator.nki.isa.microscaling import nc_matmul_mx, quantize_mx
from trnbench_emulator.nki.isa.move import dma_copy, memset, tensor_copy
from trnbench_emulator.nki.isa.random import dropout, rand2, rand_get_state, rand_set_state, rng, set_rng_seed
from trnbench_emulator.nki.isa.registers import register_alloc, register_load, register_move, register_store
from trnbench_emulator.nki.isa.scan import tensor_scalar_cumulative, tensor_scalar_reduce, tensor_tensor_scan
from trnbench_emulator.nki.isa.select import (
    affine_select,
    iota,
    range_select,
    select_reduce,
    tensor_copy_predicated,
)
from trnbench_emulator.nki.isa.statistics import (
    bn_aggr,
    bn_stats,
    max8,
    nc_find_index8,
    nc_match_replace8,
    tensor_partition_reduce,
)
from trnbench_emulator.nki.isa.transfer import core_barrier, dma_compute, dma_transpose, sendrecv
from trnbench_emulator.nki.names import refuse
from trnbench_emulator.nki.recorder import current
from trnbench_emulator.nki.values import VirtualRegister


def get_nc_version() -> int:
    """The generation the kernel runs for: nc_version.gen2, gen3, gen4."""
    version = current().machine.nc_version
    return nc_version(version) if version in set(nc_version) else version


def get_nc_sub_version() -> int:
    """The silicon revision within a generation; the first, 0."""
    current()
    return 0


__all__ = [
    "VirtualRegister", "activate2", "activation", "activation_reduce", "affine_select", "bn_aggr", "bn_stats",
    "core_barrier", "dge_mode", "dma_compute", "dma_copy", "dma_engine", "dma_transpose", "dropout", "engine",
    "exponential", "get_nc_sub_version", "get_nc_version", "gpsimd_engine", "iota", "local_gather",
    "matmul_perf_mode", "max8", "memset", "nc_find_index8", "nc_match_replace8", "nc_matmul", "nc_matmul_mx",
    "nc_n_gather", "nc_stream_shuffle", "nc_transpose", "nc_version", "nonzero_with_count", "oob_mode",
    "quantize_mx", "rand2", "rand_get_state", "rand_set_state", "range_select", "reciprocal", "reduce_cmd",
    "register_alloc", "register_load", "register_move", "register_store", "rng", "scalar_engine",
    "scalar_tensor_tensor", "select_reduce", "sendrecv", "sequence_bounds", "set_rng_seed", "tensor_copy",
    "tensor_copy_predicated", "tensor_engine", "tensor_partition_reduce", "tensor_reduce", "tensor_scalar",
    "tensor_scalar_cumulative", "tensor_scalar_reduce", "tensor_tensor", "tensor_tensor_scan", "topk",
    "unknown_engine", "vector_engine",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise refuse("nki.isa", name, __all__)
