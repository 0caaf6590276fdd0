"""Device memory and the DMA engines: read, write, copy, triad, and transfers of a stated size.

Arrays come as (chunks, 128, columns): a chunk is one transfer, with one run on every partition.
"""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki

ROWS = 128
RUN_BYTES = 16384  # a partition's share of a chunk: far beyond where transfers saturate
PIECE = 8  # chunks recorded together

_ITEM = {"float32": 4, "bfloat16": 2, "float16": 2}
_NAMES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}


@nki.jit
def hbm_read(source):
    """Every chunk into SBUF. One element is written back, so that the reads have a purpose."""
    witness = nl.ndarray((1, 1), dtype=source.dtype, buffer=nl.shared_hbm)
    for at in nl.affine_range(source.shape[0]):
        tile = nl.ndarray(source.shape[1:], dtype=source.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=source[at])
    nisa.dma_copy(dst=witness, src=tile[0:1, 0:1])
    return witness


@nki.jit
def hbm_write(like):
    """One tile of ones to every chunk of an array of the argument's shape."""
    result = nl.ndarray(like.shape, dtype=like.dtype, buffer=nl.shared_hbm)
    tile = nl.ones(like.shape[1:], dtype=like.dtype, buffer=nl.sbuf)
    for at in nl.affine_range(like.shape[0]):
        nisa.dma_copy(dst=result[at], src=tile)
    return result


@nki.jit
def hbm_copy(source):
    """Every chunk from device memory to device memory, not touching SBUF."""
    result = nl.ndarray(source.shape, dtype=source.dtype, buffer=nl.shared_hbm)
    for at in nl.affine_range(source.shape[0]):
        nisa.dma_copy(dst=result[at], src=source[at])
    return result


@nki.jit
def hbm_triad(b, c):
    """a = b + 3·c, chunk by chunk."""
    result = nl.ndarray(b.shape, dtype=b.dtype, buffer=nl.shared_hbm)
    for at in nl.affine_range(b.shape[0]):
        left = nl.ndarray(b.shape[1:], dtype=b.dtype, buffer=nl.sbuf)
        right = nl.ndarray(b.shape[1:], dtype=b.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=left, src=b[at])
        nisa.dma_copy(dst=right, src=c[at])
        nisa.scalar_tensor_tensor(
            dst=left, data=right, op0=nl.multiply, operand0=3.0, op1=nl.add, operand1=left
        )
        nisa.dma_copy(dst=result[at], src=left)
    return result


@nki.jit
def dma_sweep(source):
    """Transfers one behind the other onto the same tile: (transfers, partitions, bytes of a partition)."""
    witness = nl.ndarray((1, 1), dtype=source.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(source.shape[1:], dtype=source.dtype, buffer=nl.sbuf)
    for at in nl.sequential_range(source.shape[0]):
        nisa.dma_copy(dst=tile, src=source[at])
    nisa.dma_copy(dst=witness, src=tile[0:1, 0:1])
    return witness


# For whoever runs them ------------------------------------------------------------------------


def _chunks(size, dtype):
    """(chunks, 128, columns) of `size` bytes; None where they do not fill whole partitions."""
    item = _ITEM[dtype]
    if size % (ROWS * item):
        return None
    run = min(RUN_BYTES, size // ROWS)
    return None if size % (ROWS * run) else (size // (ROWS * run), ROWS, run // item)


def hbm_read_inputs(point):
    """One array; None where its size does not fill whole partitions."""
    shape = _chunks(int(point["size"]), "float32")
    return None if shape is None else ((shape, "float32"),)


hbm_write_inputs = hbm_copy_inputs = hbm_read_inputs


def hbm_triad_inputs(point):
    """b and c."""
    dtype = _NAMES[str(point["dtype"])]
    shape = _chunks(int(point["size"]), dtype)
    return None if shape is None else ((shape, dtype),) * 2


def hbm_read_pieces(inputs):
    """Eight chunks at a time: they do not depend on each other."""
    (chunks, rows, columns), dtype = inputs[0]
    whole, rest = divmod(chunks, PIECE)
    return tuple(
        ((((count, rows, columns), dtype),) * len(inputs), times)
        for count, times in ((PIECE, whole), (rest, 1))
        if count and times
    )


hbm_write_pieces = hbm_copy_pieces = hbm_triad_pieces = hbm_read_pieces


def dma_sweep_inputs(point):
    """Bytes, so that a run is what the axis says."""
    shape = tuple(int(point[name]) for name in ("transfers", "partitions", "bytes_per_partition"))
    return ((shape, "uint8"),)
