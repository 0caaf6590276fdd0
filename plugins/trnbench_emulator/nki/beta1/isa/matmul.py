"""nc_matmul and nc_transpose: products and transposes, into PSUM."""

# ruff: noqa: ARG001 - the signatures are NKI's, whole; not every argument changes what is modelled

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

from msgspec.structs import replace

from trnbench.errors import KernelError
from trnbench_emulator.nki import isa as today
from trnbench_emulator.nki import site
from trnbench_emulator.nki.beta1.deferral import settle
from trnbench_emulator.nki.beta1.index import Box, box_of, leaves_nothing, mask_of, of_partitions, turned
from trnbench_emulator.nki.beta1.operation import in_sbuf
from trnbench_emulator.nki.beta1.tile import Tile, later
from trnbench_emulator.nki.constraints import word
from trnbench_emulator.nki.dtype import DTYPES, Sizes, dtype_of
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
    inner = stationary.within, moving.within
    if inner != (None, None):
        stationary, moving = replace(stationary, within=None), replace(moving, within=None)
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
        masks = mask, summed, mask
        if inner != (None, None):
            boxes = _boxes(stationary.shape, _both(summed, inner[0]), moving.shape, _both(mask, inner[1]))
            if boxes is None:
                return
            of_left, of_right = boxes
            if len(of_left) != 2 or len(dst.shape) != len(of_right):
                raise KernelError(
                    f"nc_matmul: masked operands {stationary!r} and {moving!r} into {dst!r} ({site.here()})",
                    try_="a stationary operand of two dimensions, and a result of as many as the moving one",
                )
            masks = (
                mask_of((of_left[1], *of_right[1:]), dst.shape),
                mask_of(of_left, stationary.shape),
                mask_of(of_right, moving.shape),
            )
        today.nc_matmul(
            dst.operand(masks[0]), stationary.operand(masks[1]), moving.operand(masks[2]),
            is_transpose=is_transpose, accumulate=accumulate,
            tile_position=tuple(tile_position), tile_size=tuple(tile_size),
            perf_mode=perf_mode,
        )  # fmt: skip

    return later(
        (m, *free), kind, issue, buffer=Buffer.PSUM, into=(Buffer.PSUM,), adds=partial(issue, accumulate=None)
    )


def _both(mask: Any, other: Any) -> Any:
    return mask if other is None else other if mask is None else mask & other


def _boxes(left: Sizes, of_left: Any, right: Sizes, of_right: Any) -> tuple[Box, Box] | None:
    """What masks leave of both operands of a product: the same partitions of each."""
    boxes = box_of(of_left, left), box_of(of_right, right)
    if boxes[0] is None or boxes[1] is None:
        return None
    (low, high), (least, most) = boxes[0][0], boxes[1][0]
    shared = max(low, least), min(high, most)
    if shared[0] >= shared[1]:
        return None
    return (shared, *boxes[0][1:]), (shared, *boxes[1][1:])


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
        if not leaves_nothing(mask, data.shape):
            source = data.operand(mask)
            today.nc_transpose(dst.operand(turned(mask)), source, engine=engine)

    same_type = dtype is None or dtype_of(dtype) is data.dtype or current().machine.nc_version < 3
    kind = data.dtype if dtype is None or not same_type else dtype_of(dtype)
    return later((free, data.shape[0]), kind, issue, buffer=buffer, into=(buffer,), exact=True)
