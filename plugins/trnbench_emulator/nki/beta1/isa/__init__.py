"""neuronxcc.nki.isa: Beta 1 instructions, which return their result."""

from __future__ import annotations

from trnbench_emulator.nki.beta1.isa.arithmetic import (
    activation,
    activation_reduce,
    affine_select,
    bn_aggr,
    bn_stats,
    dropout,
    iota,
    local_gather,
    max8,
    nc_find_index8,
    nc_match_replace8,
    range_select,
    reciprocal,
    scalar_tensor_tensor,
    select_reduce,
    sequence_bounds,
    tensor_copy,
    tensor_partition_reduce,
    tensor_reduce,
    tensor_scalar,
    tensor_scalar_cumulative,
    tensor_scalar_reduce,
    tensor_tensor,
    tensor_tensor_scan,
)
from trnbench_emulator.nki.beta1.isa.matmul import nc_matmul, nc_transpose
from trnbench_emulator.nki.beta1.isa.move import (
    dma_copy,
    dma_transpose,
    memset,
    nc_stream_shuffle,
    tensor_copy_predicated,
)
from trnbench_emulator.nki.isa import get_nc_version
from trnbench_emulator.nki.isa.constants import (
    dge_mode,
    engine,
    gpsimd_engine,
    nc_version,
    oob_mode,
    reduce_cmd,
    scalar_engine,
    tensor_engine,
    unknown_engine,
    vector_engine,
)

__all__ = [
    "activation", "activation_reduce", "affine_select", "bn_aggr", "bn_stats", "dge_mode", "dma_copy",
    "dma_transpose", "dropout", "engine", "get_nc_version", "gpsimd_engine", "iota", "local_gather", "max8",
    "memset", "nc_find_index8", "nc_match_replace8", "nc_matmul", "nc_stream_shuffle", "nc_transpose",
    "nc_version", "oob_mode", "range_select", "reciprocal", "reduce_cmd", "scalar_engine",
    "scalar_tensor_tensor", "select_reduce", "sequence_bounds", "tensor_copy", "tensor_copy_predicated",
    "tensor_engine", "tensor_partition_reduce", "tensor_reduce", "tensor_scalar",
    "tensor_scalar_cumulative", "tensor_scalar_reduce", "tensor_tensor", "tensor_tensor_scan",
    "unknown_engine", "vector_engine",
]  # fmt: skip
