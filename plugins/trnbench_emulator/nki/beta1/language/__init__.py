"""neuronxcc.nki.language: Beta 1 calls that return their result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from trnbench_emulator.nki import language as today
from trnbench_emulator.nki.beta1.deferral import counted, settle, static_range
from trnbench_emulator.nki.beta1.grid import nc, num_programs, program_id, program_ndim, spmd_dim
from trnbench_emulator.nki.beta1.index import MGrid, arange
from trnbench_emulator.nki.beta1.language.mathematics import (
    all,
    dropout,
    loop_reduce,
    matmul,
    max,
    mean,
    min,
    prod,
    rms_norm,
    softmax,
    sum,
    transpose,
    var,
    where,
)
from trnbench_emulator.nki.beta1.language.memory import (
    atomic_rmw,
    device_print,
    empty_like,
    full,
    gather_flattened,
    load,
    load_transpose2d,
    ndarray,
    ones,
    rand,
    random_seed,
    shared_constant,
    shared_identity_matrix,
    static_cast,
    store,
    zeros,
    zeros_like,
)
from trnbench_emulator.nki.beta1.operation import OPERATIONS, apply, broadcast_to, copy
from trnbench_emulator.nki.beta1.root import ParDim
from trnbench_emulator.nki.beta1.tile import Tile
from trnbench_emulator.nki.dtype import DTYPES, dtype_of
from trnbench_emulator.nki.recording import STATE
from trnbench_emulator.nki.shadow import Independent

mgrid = MGrid()
par_dim = ParDim


class Fp32:
    """nl.fp32: the least finite number."""

    min = float(np.finfo(np.float32).min)


fp32 = Fp32


def finfo(dtype: Any) -> Any:
    """Limits of a floating type, as ml_dtypes and NumPy give them."""
    limits: Any = ml_dtypes.finfo
    return limits(dtype_of(dtype).numpy)


def expand_dims(data: Tile, axis: int) -> Tile:
    return data.expand_dims(axis)


def affine_range(start: int, stop: int | None = None, step: int = 1, **_: Any) -> Sequence[int]:
    """A loop, carried out in order: every round by itself, since indices are arrays of numbers here."""
    numbers = sequential_range(start, stop, step)
    shadow = STATE.recorder and STATE.recorder.shadow
    return Independent(numbers, shadow.loops, shadow.writes, settle) if shadow else numbers


def sequential_range(start: int, stop: int | None = None, step: int = 1, **_: Any) -> range:
    """As `affine_range`; rounds may depend on each other."""
    return counted(start, stop, step)


_SAME = (
    "ds", "no_reorder", "tile_size", "sbuf", "psum",
    "hbm", "private_hbm", "shared_hbm", "bypass",
)  # fmt: skip


globals().update({name: getattr(today, name) for name in _SAME})
globals().update(DTYPES)
globals().update({name: operation for name, operation in OPERATIONS.items() if name != "copy"})

__all__ = [
    "affine_range", "all", "apply", "arange", "atomic_rmw", "broadcast_to", "copy", "device_print", "dropout",
    "empty_like", "expand_dims", "finfo", "fp32", "full", "gather_flattened", "load", "load_transpose2d",
    "loop_reduce", "matmul", "max", "mean", "mgrid", "min", "nc", "ndarray", "num_programs", "ones",
    "par_dim", "prod", "program_id", "program_ndim", "rand", "random_seed", "rms_norm", "sequential_range",
    "shared_constant", "shared_identity_matrix", "softmax", "spmd_dim", "static_cast", "static_range",
    "store", "sum", "transpose", "var", "where", "zeros", "zeros_like",
    *_SAME, *DTYPES, *(name for name in OPERATIONS if name != "copy"),
]  # fmt: skip
