"""nki.language: tensors, loops, data types and the operations that instructions take."""

from __future__ import annotations

import builtins
from typing import Any

from trnbench_emulator.nki.dtype import DTYPES
from trnbench_emulator.nki.functions import BYPASS, FUNCTIONS
from trnbench_emulator.nki.language.composite import (
    broadcast_to,
    device_print,
    dropout,
    expand_dims,
    gather_flattened,
    matmul,
    rms_norm,
    softmax,
    transpose,
    where,
)
from trnbench_emulator.nki.language.creation import (
    empty_like,
    full,
    hbm,
    is_hbm,
    is_on_chip,
    is_psum,
    is_sbuf,
    load,
    load_transpose2d,
    ndarray,
    ones,
    private_hbm,
    psum,
    rand,
    random_seed,
    sbuf,
    shared_constant,
    shared_hbm,
    shared_identity_matrix,
    store,
    zeros,
    zeros_like,
)
from trnbench_emulator.nki.language.ranges import (
    affine_range,
    ds,
    dynamic_range,
    fori_loop,
    no_reorder,
    num_programs,
    program_id,
    program_ndim,
    sequential_range,
    static_range,
    while_loop,
)
from trnbench_emulator.nki.language.reductions import all, max, mean, min, prod, sum, var
from trnbench_emulator.nki.language.tile_size import tile_size
from trnbench_emulator.nki.memory import Buffer as MemoryRegion
from trnbench_emulator.nki.names import refuse
from trnbench_emulator.nki.objects import NKIObject
from trnbench_emulator.nki.tensor import NkiTensor

range = builtins.range
bypass = BYPASS

globals().update(DTYPES)
globals().update(FUNCTIONS)

__all__ = [
    "MemoryRegion", "NKIObject", "NkiTensor", "affine_range", "all", "broadcast_to", "bypass", "device_print",
    "dropout", "ds", "dynamic_range", "empty_like", "expand_dims", "fori_loop", "full", "gather_flattened",
    "hbm", "is_hbm", "is_on_chip", "is_psum", "is_sbuf", "load", "load_transpose2d", "matmul", "max", "mean",
    "min", "ndarray", "no_reorder", "num_programs", "ones", "private_hbm", "prod", "program_id",
    "program_ndim", "psum", "rand", "random_seed", "range", "rms_norm", "sbuf", "sequential_range",
    "shared_constant", "shared_hbm", "shared_identity_matrix", "softmax", "static_range", "store", "sum",
    "tile_size", "transpose", "var", "where", "while_loop", "zeros", "zeros_like", *DTYPES, *FUNCTIONS,
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise refuse("nki.language", name, __all__)
