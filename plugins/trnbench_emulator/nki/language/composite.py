"""Functions of nki.language that take several instructions: softmax, matmul, where, …"""

from __future__ import annotations

import sys
from typing import Any

from trnbench.errors import KernelError
from trnbench_emulator.nki import isa, site
from trnbench_emulator.nki.dtype import DTYPES, dtype_of
from trnbench_emulator.nki.functions import FUNCTIONS
from trnbench_emulator.nki.isa.matmul import EXACT_TRANSPOSE_SINCE
from trnbench_emulator.nki.language import reductions
from trnbench_emulator.nki.language.creation import copied, ndarray, psum, sbuf
from trnbench_emulator.nki.memory import Buffer
from trnbench_emulator.nki.recorder import current
from trnbench_emulator.nki.recording import STATE
from trnbench_emulator.nki.tensor import NkiTensor

_FP32 = DTYPES["float32"]
_QUADRANT = 32


def softmax(x: NkiTensor, axis: Any = -1, dtype: Any = None, *, _dst: NkiTensor | None = None) -> NkiTensor:
    """exp(x - max) / sum over the last free dimensions."""
    folded = reductions.grouped(x, reductions.axes_of("softmax", x, axis))
    size = folded.shape[2]
    top = reductions.max(folded, 2, _FP32, True)
    grown = ndarray(folded.shape, _FP32, sbuf)
    isa.tensor_tensor(grown, folded, top.broadcast(2, size), FUNCTIONS["subtract"])
    isa.activation(grown, FUNCTIONS["exp"], grown)
    total = reductions.sum(grown, 2, _FP32, True)
    isa.reciprocal(total, total)
    dst = ndarray(x.shape, dtype or x.dtype, sbuf) if _dst is None else _dst
    isa.tensor_tensor(dst, grown, total.broadcast(2, size), FUNCTIONS["multiply"])
    return dst


def rms_norm(
    x: NkiTensor,
    w: NkiTensor,
    axis: Any,
    n: int,
    epsilon: float = 1e-6,
    dtype: Any = None,
    compute_dtype: Any = None,
    *,
    _dst: NkiTensor | None = None,
) -> NkiTensor:
    """x / sqrt(mean of squares + epsilon) · w."""
    kind = compute_dtype or _FP32
    folded = reductions.grouped(x, reductions.axes_of("rms_norm", x, axis))
    squares = ndarray(folded.shape, kind, sbuf)
    isa.activation(squares, FUNCTIONS["square"], folded)
    total = reductions.sum(squares, 2, _FP32, True)
    isa.tensor_scalar(total, total, FUNCTIONS["multiply"], 1.0 / n, op1=FUNCTIONS["add"], operand1=epsilon)
    isa.activation(total, FUNCTIONS["rsqrt"], total)
    scaled = ndarray(x.shape, kind, sbuf)
    isa.tensor_tensor(scaled, folded, total.broadcast(2, folded.shape[2]), FUNCTIONS["multiply"])
    dst = ndarray(x.shape, dtype or x.dtype, sbuf) if _dst is None else _dst
    weight = w if w.shape[0] == x.shape[0] else broadcast_to(w, x.shape)
    isa.tensor_tensor(dst, scaled, weight, FUNCTIONS["multiply"])
    return dst


def where(
    condition: NkiTensor, x: Any, y: Any, dtype: Any = None, *, _dst: NkiTensor | None = None
) -> NkiTensor:
    """x where condition is not 0, else y."""
    kind = dtype or next(
        (operand.dtype for operand in (x, y) if isinstance(operand, NkiTensor)), condition.dtype
    )
    dst = ndarray(condition.shape, kind, sbuf) if _dst is None else _dst
    if isinstance(y, NkiTensor):
        isa.tensor_copy(dst, y)
    else:
        isa.memset(dst, y)
    chosen = ndarray(condition.shape, DTYPES["uint8"], sbuf)
    isa.tensor_scalar(chosen, condition, FUNCTIONS["not_equal"], 0.0)
    if isinstance(x, NkiTensor) and x.dtype is not dst.dtype:
        x = copied(x, dst.dtype)
    isa.tensor_copy_predicated(dst, x, chosen)
    return dst


def dropout(x: NkiTensor, rate: Any, dtype: Any = None, *, _dst: NkiTensor | None = None) -> NkiTensor:
    """x with elements replaced by 0 at random."""
    dst = ndarray(x.shape, x.dtype, sbuf) if _dst is None or dtype is not None else _dst
    isa.dropout(dst, x, rate)
    if dtype is None:
        return dst
    assert STATE.apply is not None
    copy: NkiTensor = STATE.apply(FUNCTIONS["copy"], (dst,), dtype, _dst)
    return copy


def expand_dims(x: NkiTensor, axis: int) -> NkiTensor:
    """A view with one more dimension, of size 1."""
    return x.expand_dim(axis)


def broadcast_to(x: NkiTensor, shape: Any, dtype: Any = None) -> NkiTensor:
    """A tile of `shape`, dimensions of size 1 repeated.

    Partitions are filled by a product with ones, and Scalar brings it out of PSUM: published profiles of
    kernels that do it leave Vector no time for it. What is no float goes by nc_stream_shuffle, and so does
    everything without `broadcast-product`.
    """
    sizes = tuple(shape)
    if len(sizes) != len(x.shape) or any(a not in (1, b) for a, b in zip(x.shape, sizes, strict=True)):
        raise KernelError(f"broadcast_to: {x!r} cannot become {list(sizes)} ({site.here()})")
    kind = dtype_of(dtype or x.dtype)
    if x.shape == sizes and kind is x.dtype:
        return x
    view = x if x.shape[0] == sizes[0] else within_reach(x)
    for dim in range(1, len(sizes)):
        if view.shape[dim] != sizes[dim]:
            view = view.broadcast(dim, sizes[dim])
    if view.form.free != x.form.free or kind is not x.dtype or x.shape[0] == sizes[0]:
        view = copied(view, kind)
    if view.shape[0] == sizes[0]:
        return view
    dst = ndarray(sizes, kind, sbuf)
    floats = kind.is_float and kind.packed is None and view.dtype.is_float
    if floats and current().assumes("broadcast-product"):
        _spread(dst.reshape((sizes[0], dst.form.free)), view.reshape((1, view.form.free)))
        return dst
    for start in range(0, sizes[0], _QUADRANT):
        rows = min(_QUADRANT, sizes[0] - start)
        isa.nc_stream_shuffle(dst[start : start + rows], view, [0] * _QUADRANT)
    return dst


def within_reach(row: NkiTensor) -> NkiTensor:
    """A row of SBUF where engines can read it: amid a group of 32 partitions only a DMA reaches it."""
    if row.buffer is not Buffer.SBUF or row.first_partition % _QUADRANT == 0:
        return row
    moved = ndarray(row.shape, row.dtype, sbuf)
    isa.dma_copy(moved, row)
    return moved


def _spread(dst: NkiTensor, row: NkiTensor) -> None:
    """dst[p, f] = row[0, f] for every partition p."""
    count, free = dst.shape
    width = current().machine.psum_bank_bytes // _FP32.size
    for start in range(0, free, width):
        end = min(start + width, free)
        isa.activation(dst[:, start:end], FUNCTIONS["copy"], spread(row[:, start:end], count))


def spread(row: NkiTensor, count: int) -> NkiTensor:
    """A tile of PSUM with `count` times the row of at most one bank."""
    recorder = current()
    key = ("ones", count, row.dtype)
    ones = recorder.identities.get(key)
    if ones is None:
        ones = ndarray((1, count), row.dtype, sbuf)
        isa.memset(ones, 1.0, engine=isa.engine.gpsimd)
        recorder.constant(key, ones)
    product = ndarray((count, row.form.free), _FP32, psum)
    isa.nc_matmul(product, ones, row, is_transpose=True)  # moves, does not compute
    return product


def transpose(x: NkiTensor, dtype: Any = None) -> NkiTensor:
    """A tile in PSUM with the transpose of a 2-D tile."""
    if len(x.shape) != 2:
        raise KernelError(f"transpose: {x!r} has {len(x.shape)} dimensions, not 2 ({site.here()})")
    kind = dtype_of(dtype or x.dtype)
    casts = current().machine.nc_version < EXACT_TRANSPOSE_SINCE
    turned = ndarray(x.shape[::-1], kind if casts else x.dtype, psum)
    isa.nc_transpose(turned, x, engine=isa.engine.tensor)
    if turned.dtype is kind:
        return turned
    dst = ndarray(turned.shape, kind, psum)
    isa.tensor_copy(dst, turned)
    return dst


def matmul(x: NkiTensor, y: NkiTensor, transpose_x: bool = False) -> NkiTensor:
    """A tile in PSUM with x @ y, or xᵀ @ y; x is turned by the tensor engine first unless it is already."""
    if not transpose_x:
        x = copied(transpose(x), x.dtype)
    dst = ndarray((x.form.free, y.form.free), _FP32, psum)
    isa.nc_matmul(dst, x, y)
    return dst


def gather_flattened(data: NkiTensor, indices: NkiTensor, axis: int = 0, dtype: Any = None) -> NkiTensor:
    """data[p, indices[p, i]] with the free dimensions flattened."""
    del axis
    dst = ndarray(indices.shape, data.dtype, sbuf)
    isa.nc_n_gather(dst, data, indices)
    return dst if dtype is None else FUNCTIONS["copy"](dst, dtype=dtype)


def device_print(print_prefix: str, tensor: NkiTensor) -> None:
    """Write the values to stderr (functional mode; no instruction)."""
    recorder = current()
    if tensor.buffer is Buffer.PSUM:
        raise KernelError(f"device_print: {tensor!r} is in PSUM, it must be in SBUF or HBM ({site.here()})")
    if recorder.functional:
        sys.stderr.write(f"{print_prefix} {tensor.array}\n")
