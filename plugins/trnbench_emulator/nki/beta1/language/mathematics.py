"""Products, reductions and norms; their names are NumPy's, and hide Python's here."""

# ruff: noqa: ARG001 - the signatures are NKI's, whole; not every argument changes what is modelled

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from trnbench_emulator.nki import isa
from trnbench_emulator.nki import language as today
from trnbench_emulator.nki.beta1.deferral import settle
from trnbench_emulator.nki.beta1.index import box_of, leaves_nothing
from trnbench_emulator.nki.beta1.isa import nc_matmul, tensor_reduce
from trnbench_emulator.nki.beta1.operation import broadcast_to, column_of, in_sbuf
from trnbench_emulator.nki.beta1.tile import Tile, later
from trnbench_emulator.nki.functions import FUNCTIONS
from trnbench_emulator.nki.language.reductions import axes_of, left
from trnbench_emulator.nki.memory import Buffer
from trnbench_emulator.nki.recorder import current


def loop_reduce(
    x: Tile, op: Any, loop_indices: Any, *, mask: Any = None, dtype: Any = None, **_: Any
) -> Tile:
    """The reduction of x over the rounds of these loops: the first round copies, the others combine."""
    first = not any(int(index) for index in loop_indices)

    def issue(dst: Tile) -> None:
        if first:
            isa.tensor_copy(dst.operand(mask), x.operand(mask))
        else:
            isa.tensor_tensor(dst.operand(mask), dst.operand(mask), x.operand(mask), op)

    return later(x.shape, dtype or x.dtype, issue)


def transpose(x: Tile, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    settle()
    return Tile.holding(today.transpose(column_of(x), dtype))


def matmul(x: Tile, y: Tile, *, transpose_x: bool = False, mask: Any = None, **_: Any) -> Tile:
    """x @ y, or xᵀ @ y, into PSUM; x is turned by the tensor engine first unless it is already."""
    settle()
    x, y = in_sbuf(x), in_sbuf(y)
    if not transpose_x:
        turned = today.transpose(x.operand(mask))
        stationary = today.ndarray(turned.shape, x.dtype, today.sbuf)
        if current().assumes("engine-choice"):
            isa.activation(stationary, FUNCTIONS["copy"], turned)
        else:
            isa.tensor_copy(stationary, turned)
        x, mask = Tile.holding(stationary), None
    return nc_matmul(x, y, mask=mask)


def _within(
    mask: Any,
    call: Any,
    operands: tuple[Any, ...],
    dtype: Any,
    shape: Callable[[], tuple[int, ...]] | None = None,
) -> Tile:
    """What today's `call` makes of these operands, in a tile of this shape, else of the first one's; a mask
    leaves the rest of it."""
    settle()
    sizes = operands[0].shape

    def views() -> list[Any]:
        return [operand.operand(mask) if isinstance(operand, Tile) else operand for operand in operands]

    def issue(dst: Tile) -> None:
        if leaves_nothing(mask, sizes):
            return
        if any(isinstance(operand, Tile) and operand.root is dst.root for operand in operands):
            isa.tensor_copy(dst.operand(mask), call(*views()))  # it may write before it has read everything
        else:
            call(*views(), _dst=dst.operand(mask))

    if box_of(mask, sizes) == box_of(None, sizes):
        return Tile.holding(call(*views()))
    return later(shape() if shape else sizes, dtype, issue, into=(Buffer.SBUF,))


def softmax(x: Tile, axis: Any = -1, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    return _within(mask, partial(today.softmax, axis=axis, dtype=dtype), (x,), dtype or x.dtype)


def rms_norm(
    x: Tile, w: Tile, axis: Any, n: int, epsilon: float = 1e-6, *,
    dtype: Any = None, compute_dtype: Any = None, mask: Any = None, **_: Any,
) -> Tile:  # fmt: skip
    call = partial(today.rms_norm, axis=axis, n=n, epsilon=epsilon, dtype=dtype, compute_dtype=compute_dtype)
    return _within(mask, call, (x, w), dtype or x.dtype)


def where(condition: Tile, x: Any, y: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    settle()
    shape = condition.shape
    parts = tuple(broadcast_to(part, shape) if isinstance(part, Tile) else part for part in (x, y))
    kind = dtype or next(tile.dtype for tile in (x, y, condition) if isinstance(tile, Tile))
    return _within(mask, partial(today.where, dtype=dtype), (condition, *parts), kind)


def dropout(x: Tile, rate: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    return _within(mask, partial(today.dropout, rate=rate, dtype=dtype), (x,), dtype or x.dtype)


def _folded(name: str, op: str) -> Any:
    def fold(
        x: Tile, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False, **_: Any
    ) -> Tile:
        return tensor_reduce(FUNCTIONS[op], x, axis, dtype=dtype, mask=mask, keepdims=keepdims)

    fold.__name__ = name
    return fold


sum = _folded("sum", "add")


max = _folded("max", "maximum")


min = _folded("min", "minimum")


prod = _folded("prod", "multiply")


def _averaged(name: str, *, keeps: bool = False) -> Any:
    function = getattr(today, name)

    def average(
        x: Tile, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False, **_: Any
    ) -> Tile:
        keepdims = keepdims or keeps
        call = partial(function, axis=axis, dtype=dtype, keepdims=keepdims)
        return _within(mask, call, (x,), dtype or x.dtype, lambda: left(x, axes_of(name, x, axis), keepdims))

    average.__name__ = name
    return average


mean, var = _averaged("mean"), _averaged("var", keeps=True)


def all(x: Tile, axis: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    call = partial(today.all, axis=axis, dtype=dtype)
    return _within(
        mask, call, (x,), dtype or x.dtype, lambda: left(x, axes_of("all", x, axis), keepdims=False)
    )
