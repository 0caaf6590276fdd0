"""nki.language: tensors, loops, data types and the operations that instructions take."""

from __future__ import annotations

from typing import Any

from trnbench.nki.dtype import DTYPES
from trnbench.nki.functions import FUNCTIONS
from trnbench.nki.language.creation import (
    hbm,
    load,
    ndarray,
    ones,
    private_hbm,
    psum,
    sbuf,
    shared_hbm,
    store,
    zeros,
)
from trnbench.nki.language.ranges import (
    affine_range,
    ds,
    num_programs,
    program_id,
    program_ndim,
    sequential_range,
    static_range,
)
from trnbench.nki.language.tile_size import tile_size
from trnbench.nki.names import refuse

globals().update(DTYPES)
globals().update(FUNCTIONS)

__all__ = [
    "affine_range", "ds", "hbm", "load", "ndarray", "num_programs", "ones", "private_hbm", "program_id",
    "program_ndim", "psum", "sbuf", "sequential_range", "shared_hbm", "static_range", "store", "tile_size",
    "zeros", *DTYPES, *FUNCTIONS,
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise refuse("nki.language", name, __all__)
