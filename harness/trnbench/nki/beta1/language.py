"""neuronxcc.nki.language: Beta 1 calls that return their result."""

# ruff: noqa: ARG001 - the signatures are NKI's, whole; not every argument changes what is modelled

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from trnbench.errors import KernelError
from trnbench.nki import isa, site
from trnbench.nki import language as today
from trnbench.nki.beta1.grid import num_programs, program_id, program_ndim
from trnbench.nki.beta1.index import MGrid, arange, box_of
from trnbench.nki.beta1.operation import OPERATIONS, apply, broadcast_to, column_of
from trnbench.nki.beta1.pending import later, settle
from trnbench.nki.beta1.root import ParDim, Root, shaped
from trnbench.nki.beta1.spread import nc, spmd_dim
from trnbench.nki.beta1.tile import Tile
from trnbench.nki.dtype import DTYPES, DType, dtype_of
from trnbench.nki.functions import FUNCTIONS
from trnbench.nki.memory import Buffer
from trnbench.nki.tensor import NkiTensor

mgrid = MGrid()
par_dim = ParDim
_FP32 = DTYPES["float32"]


class Fp32:
    """nl.fp32: the least finite number."""

    min = float(np.finfo(np.float32).min)


fp32 = Fp32


def finfo(dtype: Any) -> Any:
    """Limits of a floating type, as ml_dtypes and NumPy give them."""
    limits: Any = ml_dtypes.finfo
    return limits(dtype_of(dtype).numpy)


def made_of(tensor: NkiTensor) -> Tile:
    """A tile that today's calls have made."""
    root = Root(tensor.shape, 0 if tensor.form.on_chip else -1, tensor.dtype, tensor.buffer, tensor.name)
    root.adopt(tensor)
    return Tile.of(root)


def _buffer(given: Any, default: Buffer = Buffer.SBUF) -> Buffer:
    given = default if given is None else getattr(given, "buffer", given)
    try:
        return Buffer(given)
    except ValueError:
        raise KernelError(f"ndarray: {given!r} is no buffer ({site.here()})") from None


def ndarray(shape: Any, dtype: Any, *, name: str = "", buffer: Any = None, **_: Any) -> Tile:
    """A tensor nobody wrote yet; nl.par_dim marks the partition, dimensions before it are blocks."""
    settle()
    where = _buffer(buffer)
    sizes, axis = shaped(shape, where)
    root = shared_root(sizes, dtype_of(dtype), where, name) if axis < 0 else None
    return Tile.of(root or Root(sizes, axis, dtype_of(dtype), where, name))


def shared_root(sizes: tuple[int, ...], dtype: DType, where: Buffer, name: str) -> Root:
    """A tensor in HBM: programs of one launch that allocate it in turn get the same one."""
    from trnbench.nki.beta1.grid import LAUNCH

    return LAUNCH.shared(lambda: Root(sizes, -1, dtype, where, name), where)


def full(shape: Any, fill_value: Any, dtype: Any, *, buffer: Any = None, name: str = "", **_: Any) -> Tile:
    """A tile filled by memset, block by block as they are used; zeros in PSUM cost nothing, since the first
    product overwrites."""
    tile = ndarray(shape, dtype, buffer=buffer, name=name)
    if tile.on_chip:
        tile.root.fill = fill_value
    return tile


def zeros(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "", **_: Any) -> Tile:
    return full(shape, 0, dtype, buffer=buffer, name=name)


def ones(shape: Any, dtype: Any, *, buffer: Any = None, name: str = "", **_: Any) -> Tile:
    return full(shape, 1, dtype, buffer=buffer, name=name)


def zeros_like(a: Tile, dtype: Any = None, *, buffer: Any = None, name: str = "", **_: Any) -> Tile:
    return zeros(a.shape, dtype or a.dtype, buffer=buffer or a.buffer, name=name)


def empty_like(a: Tile, dtype: Any = None, *, buffer: Any = None, name: str = "", **_: Any) -> Tile:
    return ndarray(a.shape, dtype or a.dtype, buffer=buffer or a.buffer, name=name)


def load(src: Tile, *, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """A tile in SBUF with what `src` picks of a tensor in HBM."""

    def issue(dst: Tile) -> None:
        if box_of(mask, src.shape) is not None:
            isa.dma_copy(dst.overwritten(src, mask), src.operand(mask))

    kind = src.dtype if dtype is None else dtype_of(dtype)
    return later(src.shape or (1,), kind, issue, into=(Buffer.SBUF,))


def load_transpose2d(src: Tile, *, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    settle()
    return made_of(today.load_transpose2d(src.operand(mask), dtype))


def store(dst: Tile, value: Any, *, mask: Any = None, **_: Any) -> None:
    """Copy a tile to HBM, through SBUF where it is in PSUM."""
    settle()
    if not isinstance(value, Tile):
        value = full((128, 1), value, dst.dtype)
        value = broadcast_to(value[0 : dst.shape[0]], (dst.shape[0], *dst.shape[1:]))
        settle()
    if value.buffer is Buffer.PSUM:
        value = copy(value)
        settle()
    box = box_of(mask, dst.shape)
    if box is None:
        return
    target = dst if dst.over or dst.ndim == value.ndim else dst.fitted(value.shape) or dst
    source = value if value.shape == target.shape else value.fitted(target.shape) or value
    dst.root.written = True
    isa.dma_copy(target.operand(mask), source.operand(mask))


def copy(src: Any, *, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    """A copy in SBUF; Scalar makes it, as published profiles of such kernels show."""
    if not isinstance(src, Tile):
        return src  # type: ignore[no-any-return]
    settle()
    return apply("copy", (src,), dtype=dtype, mask=mask)


def static_cast(value: Any, dtype: Any) -> Any:
    """A tile or an array as another type."""
    if isinstance(value, Tile):
        return copy(value, dtype=dtype)
    return dtype_of(dtype).cast(np.asarray(value))


def loop_reduce(
    x: Tile, op: Any, loop_indices: Any, *, mask: Any = None, dtype: Any = None, **_: Any
) -> Tile:
    """The reduction of x over the rounds of these loops: the first round copies, the others combine."""
    first = not any(int(each) for each in loop_indices)
    kind = x.dtype if dtype is None else dtype_of(dtype)

    def issue(dst: Tile) -> None:
        if first:
            isa.tensor_copy(dst.operand(mask), x.operand(mask))
        else:
            isa.tensor_tensor(dst.operand(mask), dst.operand(mask), x.operand(mask), op)

    return later(x.shape, kind, issue)


def expand_dims(data: Tile, axis: int) -> Tile:
    return data.expand_dims(axis)


def transpose(x: Tile, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    settle()
    return made_of(today.transpose(column_of(x), dtype))


def matmul(x: Tile, y: Tile, *, transpose_x: bool = False, mask: Any = None, **_: Any) -> Tile:
    """x @ y, or xᵀ @ y, into PSUM; x is turned by the tensor engine first unless it is already."""
    from trnbench.nki.beta1.isa import nc_matmul

    settle()
    x, y = (copy(each) if each.buffer is Buffer.PSUM else each for each in (x, y))
    settle()
    if not transpose_x:
        turned = today.transpose(x.operand(mask))
        left = today.ndarray(turned.shape, x.dtype, today.sbuf)
        isa.tensor_copy(left, turned)
        x, mask = made_of(left), None
    return nc_matmul(x, y, mask=mask)


def softmax(x: Tile, axis: Any = -1, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    settle()
    return made_of(today.softmax(x.operand(mask), axis, dtype))


def rms_norm(x: Tile, w: Tile, axis: Any, n: int, epsilon: float = 1e-6, **named: Any) -> Tile:
    settle()
    kinds = {key: named.get(key) for key in ("dtype", "compute_dtype")}
    return made_of(today.rms_norm(x.operand(), w.operand(), axis, n, epsilon, **kinds))


def where(condition: Tile, x: Any, y: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    settle()
    shape = condition.shape
    parts = [broadcast_to(each, shape) if isinstance(each, Tile) else each for each in (x, y)]
    settle()
    left, right = (each.operand() if isinstance(each, Tile) else each for each in parts)
    return made_of(today.where(condition.operand(), left, right, dtype))


def dropout(x: Tile, rate: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    settle()
    return made_of(today.dropout(x.operand(mask), rate, dtype))


def gather_flattened(data: Tile, indices: Tile, *, mask: Any = None, dtype: Any = None, **_: Any) -> Tile:
    settle()
    return made_of(today.gather_flattened(data.operand(), indices.operand(), dtype=dtype))


def rand(shape: Any, dtype: Any = _FP32, **_: Any) -> Tile:
    settle()
    return made_of(today.rand(tuple(shape), dtype))


def random_seed(seed: Any, **_: Any) -> None:
    settle()
    if isinstance(seed, Tile):
        today.random_seed(seed.operand())


def shared_constant(constant: Any, dtype: Any = None, **_: Any) -> Tile:
    settle()
    values = np.asarray(constant)
    return made_of(today.shared_constant(values if dtype is None else dtype_of(dtype).cast(values)))


def shared_identity_matrix(n: int, dtype: Any = DTYPES["uint8"], **_: Any) -> Tile:
    settle()
    return made_of(today.shared_identity_matrix(n, dtype))


def device_print(print_prefix: str, x: Tile, **_: Any) -> None:
    settle()
    today.device_print(print_prefix, x.operand())


def _folded(name: str, op: str) -> Any:
    def fold(
        x: Tile, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False, **_: Any
    ) -> Tile:
        from trnbench.nki.beta1.isa import tensor_reduce

        return tensor_reduce(FUNCTIONS[op], x, axis, dtype=dtype, mask=mask, keepdims=keepdims)

    fold.__name__ = name
    return fold


sum = _folded("sum", "add")
max = _folded("max", "maximum")
min = _folded("min", "minimum")
prod = _folded("prod", "multiply")


def mean(
    x: Tile, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False, **_: Any
) -> Tile:
    settle()
    return made_of(today.mean(x.operand(mask), axis, dtype, keepdims))


def var(x: Tile, axis: Any, *, dtype: Any = None, mask: Any = None, keepdims: bool = False, **_: Any) -> Tile:
    settle()
    return made_of(today.var(x.operand(mask), axis, dtype, keepdims))


def all(x: Tile, axis: Any, *, dtype: Any = None, mask: Any = None, **_: Any) -> Tile:
    settle()
    return made_of(today.all(x.operand(mask), axis, dtype))


def affine_range(start: int, stop: int | None = None, step: int = 1, **_: Any) -> range:
    """A loop, carried out in order: every round by itself, since indices are arrays of numbers here."""
    return range(int(start)) if stop is None else range(int(start), int(stop), step)


sequential_range = static_range = affine_range


_SAME = (
    "ds", "no_reorder", "tile_size", "sbuf", "psum",
    "hbm", "private_hbm", "shared_hbm", "bypass",
)  # fmt: skip

globals().update({name: getattr(today, name) for name in _SAME})
globals().update(DTYPES)
globals().update({name: each for name, each in OPERATIONS.items() if name not in ("copy",)})

__all__ = [
    "affine_range", "all", "apply", "arange", "broadcast_to", "copy", "device_print", "dropout",
    "empty_like", "expand_dims", "finfo", "fp32", "full", "gather_flattened", "load", "load_transpose2d",
    "loop_reduce", "matmul", "max", "mean", "mgrid", "min", "nc", "ndarray", "num_programs", "ones",
    "par_dim", "prod", "program_id", "program_ndim", "rand", "random_seed", "rms_norm", "sequential_range",
    "shared_constant", "shared_identity_matrix", "softmax", "spmd_dim", "static_cast", "static_range",
    "store", "sum", "transpose", "var", "where", "zeros", "zeros_like",
    *_SAME, *DTYPES, *(name for name in OPERATIONS if name != "copy"),
]  # fmt: skip
