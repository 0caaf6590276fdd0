"""Products, reductions and norms; their names are NumPy's, and hide Python's here."""

# ruff: noqa: ARG001 - the signatures are NKI's, whole; not every argument changes what is modelled

from __future__ import annotations

from typing import Any

from trnbench_emulator.nki import isa
from trnbench_emulator.nki import language as today
from trnbench_emulator.nki.beta1.deferral import settle
from trnbench_emulator.nki.beta1.isa import nc_matmul, tensor_reduce
from trnbench_emulator.nki.beta1.operation import broadcast_to, column_of, in_sbuf
from trnbench_emulator.nki.beta1.tile import Tile, later
from trnbench_emulator.nki.functions import FUNCTIONS
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


def softmax(x: Tile, axis: Any = -1, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    settle()
    return Tile.holding(today.softmax(x.operand(mask), axis, dtype))


def rms_norm(x: Tile, w: Tile, axis: Any, n: int, epsilon: float = 1e-6, **named: Any) -> Tile:
    settle()
    kinds = {key: named.get(key) for key in ("dtype", "compute_dtype")}
    return Tile.holding(today.rms_norm(x.operand(), w.operand(), axis, n, epsilon, **kinds))


def where(condition: Tile, x: Any, y: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    settle()
    shape = condition.shape
    parts = [broadcast_to(operand, shape) if isinstance(operand, Tile) else operand for operand in (x, y)]
    settle()
    left, right = (operand.operand() if isinstance(operand, Tile) else operand for operand in parts)
    return Tile.holding(today.where(condition.operand(), left, right, dtype))


def dropout(x: Tile, rate: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    settle()
    return Tile.holding(today.dropout(x.operand(mask), rate, dtype))


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


def _averaged(name: str) -> Any:
    function = getattr(today, name)

    def average(
        x: Tile, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False, **_: Any
    ) -> Tile:
        settle()
        return Tile.holding(function(x.operand(mask), axis, dtype, keepdims))

    average.__name__ = name
    return average


mean, var = _averaged("mean"), _averaged("var")


def all(x: Tile, axis: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    settle()
    return Tile.holding(today.all(x.operand(mask), axis, dtype))
