"""nc_matmul and nc_transpose: products and transposes, into PSUM."""

# ruff: noqa: ARG001 - the signatures are NKI's, whole; not every argument changes what is modelled

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

from trnbench_emulator.nki import isa as today
from trnbench_emulator.nki.beta1.deferral import settle
from trnbench_emulator.nki.beta1.index import Mask, leaves_nothing, of_partitions
from trnbench_emulator.nki.beta1.operation import in_sbuf
from trnbench_emulator.nki.beta1.tile import Tile, later
from trnbench_emulator.nki.constraints import word
from trnbench_emulator.nki.dtype import DTYPES, dtype_of
from trnbench_emulator.nki.isa.constants import (
    unknown_engine,
)
from trnbench_emulator.nki.memory import Buffer
from trnbench_emulator.nki.recorder import current

_FP32 = DTYPES["float32"]
_DOUBLE_ROW = today.matmul_perf_mode.double_row
_MODES = {"none": today.matmul_perf_mode.none, "double_row_gen3": _DOUBLE_ROW}


def nc_matmul(
    stationary: Tile,
    moving: Tile,
    *,
    is_stationary_onezero: bool = False,
    is_moving_onezero: bool = False,
    is_transpose: bool = False,
    tile_position: Any = (),
    tile_size: Any = (),
    perf_mode: Any = "none",
    mask: Any = None,
    **_: Any,
) -> Tile:
    """stationaryᵀ · moving into PSUM; `tile[…] += nc_matmul(…)` adds to what PSUM holds."""
    settle()
    summed = of_partitions(mask, len(moving.shape))  # a mask of columns is one of the moving operand's
    stationary, moving = in_sbuf(stationary, summed), in_sbuf(moving, mask)
    mode = word(perf_mode)
    perf_mode = _MODES.get(mode) or today.matmul_perf_mode(mode)
    rows = stationary.shape[1:-1] if perf_mode is _DOUBLE_ROW else ()
    m = prod(stationary.shape[1:]) // prod(rows)
    free = moving.shape[1:] if not rows else moving.shape[1 + len(rows) :]
    kind = moving.dtype if is_transpose else _FP32

    def issue(dst: Tile, accumulate: bool | None = False) -> None:
        if leaves_nothing(mask, moving.shape) or leaves_nothing(summed, stationary.shape):
            return
        today.nc_matmul(
            dst.operand(mask), stationary.operand(summed), moving.operand(mask),
            is_transpose=is_transpose, accumulate=accumulate,
            tile_position=tuple(tile_position), tile_size=tuple(tile_size),
            perf_mode=perf_mode,
        )  # fmt: skip

    return later(
        (m, *free), kind, issue, buffer=Buffer.PSUM, into=(Buffer.PSUM,), adds=partial(issue, accumulate=None)
    )


def nc_transpose(
    data: Tile, *, mask: Any = None, dtype: Any = None, engine: Any = unknown_engine, **_: Any
) -> Tile:
    """The transpose in PSUM by the tensor engine, or in SBUF by Vector."""
    settle()
    by_vector = word(engine) == "vector"
    buffer = Buffer.SBUF if by_vector else Buffer.PSUM
    data = data if by_vector else in_sbuf(data, mask)
    free = prod(data.shape[1:])

    def issue(dst: Tile) -> None:
        source = data.operand(mask)
        today.nc_transpose(dst.operand(_turned(mask)), source, engine=engine)

    same_type = dtype is None or dtype_of(dtype) is data.dtype or current().machine.nc_version < 3
    kind = data.dtype if dtype is None or not same_type else dtype_of(dtype)
    return later((free, data.shape[0]), kind, issue, buffer=buffer, into=(buffer,), exact=True)


def _turned(mask: Any) -> Any:
    """The mask of a tile for its transpose."""
    if not isinstance(mask, Mask):
        return mask
    return Mask(tuple(condition.T for condition in mask.conditions))
