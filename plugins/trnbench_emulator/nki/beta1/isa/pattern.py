"""Instructions that read an index as a pattern: iota, affine_select."""

from __future__ import annotations

from functools import partial
from typing import Any

from trnbench.errors import KernelError
from trnbench_emulator.nki import isa as today
from trnbench_emulator.nki import site
from trnbench_emulator.nki.beta1.deferred import later
from trnbench_emulator.nki.beta1.index import Grid
from trnbench_emulator.nki.beta1.mask import Mask
from trnbench_emulator.nki.beta1.pending import settle
from trnbench_emulator.nki.beta1.tile import Tile
from trnbench_emulator.nki.dtype import dtype_of
from trnbench_emulator.nki.functions import FUNCTIONS
from trnbench_emulator.nki.isa.constants import (
    gpsimd_engine,
)
from trnbench_emulator.nki.memory import Buffer
from trnbench_emulator.nki.recorder import current


def iota(expr: Grid, dtype: Any, *, mask: Any = None, **_: Any) -> Tile:
    """The values of an index, such as nl.arange(128)[:, None] * 512 + nl.arange(512)[None, :]."""
    pattern, step = _pattern(expr, "iota")

    def issue(dst: Tile) -> None:
        today.iota(dst.operand(mask), pattern, expr.const, step)

    return later(expr.sizes, dtype_of(dtype), issue)


def affine_select(
    pred: Any, on_true_tile: Tile, on_false_value: Any, *, mask: Any = None, dtype: Any = None, **_: Any
) -> Tile:
    """The tile where `pred` holds, a comparison of indices; else the number."""
    settle()
    if on_true_tile.buffer is Buffer.PSUM:  # out of GpSimd's reach
        held = later(
            on_true_tile.shape, on_true_tile.dtype, partial(_brought, on_true_tile, mask), into=(Buffer.SBUF,)
        )
        settle()
        on_true_tile = held
    kind = on_true_tile.dtype if dtype is None else dtype_of(dtype)
    shape = on_true_tile.shape
    if isinstance(pred, Mask) and len(pred.conditions) > 1:
        raise KernelError(
            f"affine_select: pred joins {len(pred.conditions)} comparisons ({site.here()})",
            try_="one nisa.affine_select for each",
        )

    def issue(dst: Tile) -> None:
        if not isinstance(pred, Mask) or not pred.conditions:
            if pred:
                today.tensor_copy(dst.operand(mask), on_true_tile.operand(mask), engine=gpsimd_engine)
            else:
                today.memset(dst.operand(mask), on_false_value, engine=gpsimd_engine)
            return
        expr = pred.conditions[0].widened(len(shape))
        pattern, step = _pattern(Grid(expr.const, expr.coefficients, shape), "affine_select")
        today.affine_select(
            dst.operand(mask), pattern, step, on_true_tile.operand(mask), on_false_value,
            cmp_op=FUNCTIONS["greater_equal"], offset=expr.const,
        )  # fmt: skip

    return later(shape, kind, issue)


def _brought(source: Tile, mask: Any, dst: Tile) -> None:
    """Out of PSUM."""
    if current().assumes("engine-choice"):
        today.activation(dst.operand(mask), FUNCTIONS["copy"], source.operand(mask))
    else:
        today.tensor_copy(dst.operand(mask), source.operand(mask))


def _pattern(expr: Any, call: str) -> tuple[list[list[int]], int]:
    if not isinstance(expr, Grid):
        raise KernelError(f"{call}: {expr!r} is no index made of nl.arange ({site.here()})")
    pairs = list(zip(expr.coefficients, expr.sizes, strict=True))[1:]
    return [[step, size] for step, size in pairs] or [[1, 1]], expr.coefficients[0]
