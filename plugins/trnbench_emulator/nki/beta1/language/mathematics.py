"""Products, reductions and norms; their names are NumPy's, and hide Python's here."""

# ruff: noqa: ARG001 - the signatures are NKI's, whole; not every argument changes what is modelled

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from functools import lru_cache, partial
from types import CodeType, FrameType
from typing import Any

from trnbench.errors import KernelError
from trnbench_emulator.nki import isa, site
from trnbench_emulator.nki import language as today
from trnbench_emulator.nki.beta1.deferral import settle
from trnbench_emulator.nki.beta1.index import Mask, box_of, leaves_nothing
from trnbench_emulator.nki.beta1.isa import affine_select, nc_matmul, tensor_reduce
from trnbench_emulator.nki.beta1.language.memory import full
from trnbench_emulator.nki.beta1.operation import broadcast_to, column_of, in_sbuf
from trnbench_emulator.nki.beta1.tile import Tile, later
from trnbench_emulator.nki.dtype import DTYPES, Sizes
from trnbench_emulator.nki.functions import FUNCTIONS
from trnbench_emulator.nki.language.reductions import axes_of, left
from trnbench_emulator.nki.memory import Buffer
from trnbench_emulator.nki.recorder import current


def loop_reduce(
    x: Tile, op: Any, loop_indices: Any, *, mask: Any = None, dtype: Any = None, **_: Any
) -> Tile:
    """`total[…] = loop_reduce(x, op, …)` and `total = loop_reduce(x, op, …)`: total op x, in its place.

    As documented, the destination is an operand: a round combines with what the one before has left. Into a
    tile that holds nothing yet x is copied.
    """
    settle()

    def issue(dst: Tile) -> None:
        if dst.root is nowhere:
            raise KernelError(
                f"loop_reduce has nothing to combine with ({site.here()})",
                cause="its other operand is the tile that its result is assigned to, and there is none",
                try_="total = nl.zeros(…) before the loop, total[...] = nl.loop_reduce(…) in it",
            )
        if leaves_nothing(mask, x.shape):
            return
        if dst.root.holds_nothing(dst.block):
            isa.tensor_copy(dst.operand(mask), x.operand(mask))
        else:
            isa.tensor_tensor(dst.operand(mask), dst.operand(mask), x.operand(mask), op)

    nowhere = None
    total = _value_before(sys._getframe(1))
    if isinstance(total, Tile) and total.on_chip and (target := total.fitted(x.shape)) is not None:
        issue(target)
        return total
    result = later(x.shape, dtype or x.dtype, issue)
    nowhere = result.root
    return result


def _value_before(frame: FrameType) -> Any:
    """What `name` holds before the call at hand gives it a new value: `name = call(…)`."""
    name = _name_behind(frame.f_code, frame.f_lasti)
    return None if name is None else frame.f_locals.get(name)


@lru_cache(maxsize=256)
def _name_behind(code: CodeType, call: int) -> str | None:
    """The variable that the result of the call at this place of the code goes to."""
    for instruction in dis.get_instructions(code):
        if instruction.offset > call and instruction.opname != "EXTENDED_ARG":
            stores = instruction.opname.startswith(("STORE_FAST", "STORE_NAME", "STORE_DEREF"))
            names = instruction.argval  # several where a release of Python joins instructions
            return (names if isinstance(names, str) else names[0]) if stores else None
    return None


def transpose(x: Tile, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    settle()
    return Tile.holding(today.transpose(column_of(in_sbuf(x)), dtype))


def matmul(x: Tile, y: Tile, *, transpose_x: bool = False, mask: Any = None, **_: Any) -> Tile:
    """x @ y, or xᵀ @ y, into PSUM; x is turned by the tensor engine first unless it is already."""
    settle()
    if x.within is not None or y.within is not None:
        if not transpose_x:
            raise KernelError(
                f"nl.matmul: a masked operand is turned first ({site.here()})",
                try_="transpose_x=True, with x turned already",
            )
        return nc_matmul(x, y, mask=mask)
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
    shape: Callable[[], Sizes] | None = None,
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


def where(condition: Any, x: Any, y: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    """x where the condition holds, else y. A comparison of indices is made a tile first, as affine_select
    does it: its page names this call for predicates that it does not take itself, joined ones."""
    settle()
    tiles = [part for part in (x, y) if isinstance(part, Tile)]
    if isinstance(condition, Mask) and tiles:
        masks = [condition] if condition.is_equality else [Mask((each,)) for each in condition.conditions]
        condition = full(tiles[0].shape, 1, DTYPES["float32"], buffer=Buffer.SBUF)
        for comparison in masks:
            condition = affine_select(comparison, condition, 0)
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
