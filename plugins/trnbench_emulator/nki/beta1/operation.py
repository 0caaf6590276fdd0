"""Element-wise operations and copies of Beta 1: names that are both an instruction's operand and a call."""

from __future__ import annotations

from math import prod
from typing import Any

import msgspec
import numpy as np

from trnbench.errors import KernelError
from trnbench_emulator.nki import isa, site
from trnbench_emulator.nki import language as today
from trnbench_emulator.nki.beta1.deferral import SLOT, settle, taken
from trnbench_emulator.nki.beta1.index import broadcast, leaves_nothing
from trnbench_emulator.nki.beta1.tile import CALLS, Tile, later
from trnbench_emulator.nki.beta1.view import PARTITION
from trnbench_emulator.nki.dtype import DTYPES, DType, Sizes, dtype_of
from trnbench_emulator.nki.functions import FUNCTIONS, Function
from trnbench_emulator.nki.language import composite, elementwise
from trnbench_emulator.nki.memory import Buffer
from trnbench_emulator.nki.recorder import current
from trnbench_emulator.nki.tensor import NkiTensor


class Operation(Function, frozen=True, eq=False):
    """`nl.add` of Beta 1: takes `mask=` and `dtype=`, returns the result."""

    def __call__(self, *operands: Any, dtype: Any = None, mask: Any = None, **named: Any) -> Any:
        operands += tuple(named[name] for name in ("x", "y", "src") if name in named)
        if len(operands) != self.arity:
            raise KernelError(
                f"nl.{self.name} takes {self.arity} operands, got {len(operands)} ({site.here()})"
            )
        if not any(isinstance(operand, Tile) for operand in operands):
            return self.apply(*operands)  # numbers: computed while the kernel is read
        return apply(self.name, operands, dtype=dtype, mask=mask)


OPERATIONS: dict[str, Operation] = {
    name: Operation(**msgspec.structs.asdict(function)) for name, function in FUNCTIONS.items()
}


def apply(
    name: str, operands: tuple[Any, ...], *, dtype: Any = None, mask: Any = None, into: Tile | None = None
) -> Tile:
    """The operation on tiles and numbers, broadcast to one shape; `into` an existing tile, or a new one."""
    if name == "add" and dtype is None and mask is None and into is None:
        total = _accumulation(*operands)
        if total is not None:
            return total
    settle()
    function = FUNCTIONS[name]
    operands = of_one_rank(operands)
    shape: Sizes = ()
    for operand in operands:
        if isinstance(operand, Tile):
            shape = broadcast(shape, operand.shape)
    spread = tuple(_spread(operand, shape) if isinstance(operand, Tile) else operand for operand in operands)
    settle()
    kind = common_type([operand for operand in spread if isinstance(operand, Tile)])
    fractions = name == "divide" or any(isinstance(operand, (float, np.floating)) for operand in operands)
    if dtype is not None:
        kind = dtype_of(dtype)
    elif fractions and not kind.is_float:  # whole numbers become fractions, as in NumPy
        kind = DTYPES["float32"]

    def issue(dst: Tile) -> None:
        if not leaves_nothing(mask, shape):
            views = tuple(
                operand.operand(mask) if isinstance(operand, Tile) else operand for operand in spread
            )
            elementwise.apply(function, views, None, dst.operand(mask))

    if into is not None:
        issue(into)
        return into
    return later(shape, kind, issue)


def _accumulation(left: Any, right: Any) -> Tile | None:
    """A tile in PSUM plus a product: `psum[…] = psum + product` adds up there, as `psum[…] += product` does.
    None where it is another sum.
    """
    held = SLOT.held
    if held is None or held.adds is None:
        return None
    for psum, product in ((left, right), (right, left)):
        if not (isinstance(psum, Tile) and isinstance(product, Tile) and psum.buffer is Buffer.PSUM):
            continue
        target = psum.fitted(product.shape)
        if product.root is held.result.root and product.is_whole() and target is not None:
            break
    else:
        return None
    taken(product)

    def issue(dst: Tile) -> None:
        if target.same_place(dst):
            held.add_to(dst)
        else:
            held.issue(held.result)
            apply("add", (psum, product), into=dst)

    return later(product.shape, common_type([psum, product]), issue)


def of_one_rank(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Tiles with fewer dimensions get free ones of size 1 behind their partition, the first of each."""
    tiles = [operand for operand in operands if isinstance(operand, Tile)]
    rank = max(len(operand.shape) for operand in tiles)
    if any(operand.kinds[:1] != (PARTITION,) for operand in tiles):
        return operands
    return tuple(
        operand.widened(1, rank - len(operand.shape))
        if isinstance(operand, Tile) and len(operand.shape) < rank and not operand.over
        else operand
        for operand in operands
    )


def common_type(tiles: list[Tile]) -> DType:
    """The widest of the types, a float before an integer."""
    return max((tile.dtype for tile in tiles), key=lambda kind: (kind.is_float, kind.size))


def _spread(tile: Tile, shape: Sizes) -> Tile:
    """As wide as the others: a column of numbers stays one, other free dimensions are read repeatedly."""
    if tile.shape == shape:
        return tile
    tile = tile.widened(0, len(shape) - len(tile.shape))
    if tile.shape[0] != shape[0]:
        return broadcast_to(tile, shape)
    if prod(tile.shape[1:]) == 1:
        return tile
    return repeated(tile, shape)


def repeated(tile: Tile, shape: Sizes) -> Tile:
    """Free dimensions of size 1 read again and again, without a copy."""
    strides = tuple(
        0 if have != want else step for have, want, step in zip(tile.shape, shape, tile.strides, strict=True)
    )
    return tile.like(shape, strides, tile.kinds)


def broadcast_to(src: Tile, shape: Any, *, dtype: Any = None, **_: Any) -> Tile:
    """A view where only free dimensions grow; otherwise a tile whose partitions are filled."""
    settle()
    sizes = tuple(int(size) for size in shape)
    src = src.widened(0, len(sizes) - len(src.shape))
    if len(src.shape) > len(sizes) or any(a not in (1, b) for a, b in zip(src.shape, sizes, strict=True)):
        raise KernelError(f"broadcast_to: {src!r} cannot become {list(sizes)} ({site.here()})")
    if src.shape == sizes and (dtype is None or dtype_of(dtype) is src.dtype):
        return src
    if src.shape[0] == sizes[0] and src.kinds[0] == PARTITION and dtype is None:
        return repeated(src, sizes)
    view = (in_sbuf(src) if _is_multiplied(src, sizes, dtype) else src).operand()
    if len(view.shape) != len(sizes):
        view = view.reshape((view.shape[0], *[1] * (len(sizes) - len(view.shape)), *view.shape[1:]))
    view = composite.within_reach(view) if view.shape[0] == 1 else view
    if dtype is None and view.shape[0] == 1 and _stays(view, sizes) and _in_psum():
        row = view.reshape((1, view.form.free))
        return Tile.holding(composite.spread(row, sizes[0]).reshape(sizes))
    return Tile.holding(today.broadcast_to(view, sizes, dtype))


def _is_multiplied(row: Tile, sizes: Sizes, dtype: Any) -> bool:
    """Does a product with ones read this row where it is? Rows that grow or change their type are copied."""
    same = row.shape[1:] == sizes[1:] and (dtype is None or dtype_of(dtype) is row.dtype)
    spread = same and row.shape[0] != sizes[0] and row.dtype.is_float
    return spread and "broadcast-product" in current().assumptions


def _stays(row: NkiTensor, sizes: Sizes) -> bool:
    """Is a row of one bank, spread over partitions, read in PSUM without a copy? Mamba's published profiles
    leave Vector no time for two operands in SBUF.
    """
    whole = prod(sizes[1:]) == row.form.free and row.dtype is DTYPES["float32"]
    return whole and row.form.row_bytes <= current().machine.psum_bank_bytes


def _in_psum() -> bool:
    recorder = current()
    product = "broadcast-product" in recorder.assumptions and recorder.assumes("broadcast-in-psum")
    return product and recorder.assumes("broadcast-product")


def column_of(tile: Tile) -> NkiTensor:
    """The tile as rows of one free dimension."""
    view = tile.operand()
    return view if len(view.shape) == 2 else view.reshape((view.shape[0], prod(view.shape[1:])))


def copy(src: Any, *, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """A copy in SBUF; Scalar makes it, as published profiles of such kernels show."""
    if not isinstance(src, Tile):
        return src  # type: ignore[no-any-return]
    settle()
    if current().assumes("engine-choice"):
        return apply("copy", (src,), dtype=dtype, mask=mask)

    def issue(dst: Tile) -> None:
        if not leaves_nothing(mask, src.shape):
            isa.tensor_copy(dst.operand(mask), src.operand(mask))

    return later(src.shape, dtype or src.dtype, issue)


def in_sbuf(tile: Tile, mask: Any = None) -> Tile:
    """The tile, or the copy of it that the compiler puts in where PSUM is out of an engine's reach."""
    if tile.buffer is not Buffer.PSUM or leaves_nothing(mask, tile.shape):
        return tile
    copied = copy(tile, mask=mask)
    settle()
    return copied


CALLS.update(apply=apply, broadcast_to=broadcast_to, copy=copy, in_sbuf=in_sbuf)
