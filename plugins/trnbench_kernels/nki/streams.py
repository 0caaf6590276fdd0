"""Device memory and the DMA engines: read, write, copy, triad, and transfers of a stated size.

Arrays come as (chunks, 128, columns): a chunk is one transfer, with one run on every partition.
"""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki
from trnbench_kernels.nki.shapes import FLOATS, ITEM
from trnbench_kernels.nki.tiles import hbm_tensor, loaded, sbuf_tile

ROWS = 128
RUN_BYTES = 16384  # a partition's share of a chunk: far beyond where transfers saturate
TARGET_BYTES = 128 << 10  # of a partition, for transfers in flight


@nki.jit
def hbm_read(source):
    """Every chunk into SBUF. One element is written back, so that the reads have a purpose."""
    witness = hbm_tensor((1, 1), source.dtype)
    for at in nl.affine_range(source.shape[0]):
        tile = sbuf_tile(source.shape[1:], source.dtype)
        nisa.dma_copy(dst=tile, src=source[at])
    nisa.dma_copy(dst=witness, src=tile[0:1, 0:1])
    return witness


@nki.jit
def hbm_write(like):
    """One tile of ones to every chunk of an array of the argument's shape."""
    result = hbm_tensor(like.shape, like.dtype)
    tile = nl.ones(like.shape[1:], dtype=like.dtype)
    for at in nl.affine_range(like.shape[0]):
        nisa.dma_copy(dst=result[at], src=tile)
    return result


@nki.jit
def hbm_copy(source):
    """Every chunk from device memory to device memory, not touching SBUF."""
    result = hbm_tensor(source.shape, source.dtype)
    for at in nl.affine_range(source.shape[0]):
        nisa.dma_copy(dst=result[at], src=source[at])
    return result


@nki.jit
def hbm_triad(b, c):
    """a = b + 3·c, chunk by chunk; the next chunk is asked for before this one is computed and stored."""
    result = hbm_tensor(b.shape, b.dtype)
    chunks = b.shape[0]
    left, right = loaded(b[0]), loaded(c[0])
    for at in nl.affine_range(chunks - 1):
        next_left, next_right = loaded(b[at + 1]), loaded(c[at + 1])
        _add(result[at], left, right)
        left, right = next_left, next_right
    _add(result[chunks - 1], left, right)
    return result


def _add(target, left, right):
    nisa.scalar_tensor_tensor(dst=left, data=right, op0=nl.multiply, operand0=3.0, op1=nl.add, operand1=left)
    nisa.dma_copy(dst=target, src=left)


@nki.jit
def dma_sweep(source):
    """Transfers one behind the other: (transfers, partitions, bytes of a partition).

    They go round as many tiles as 128 KiB of a partition hold, so that none waits for the one before.
    """
    transfers, rows, run = source.shape
    witness = hbm_tensor((1, 1), source.dtype)
    count = max(1, min(transfers, TARGET_BYTES // run))
    tile = sbuf_tile((rows, count, run), source.dtype)
    for turn in nl.sequential_range(transfers // count):
        for at in nl.affine_range(count):
            nisa.dma_copy(dst=tile[:, at, :], src=source[turn * count + at])
    for at in nl.affine_range(transfers % count):
        nisa.dma_copy(dst=tile[:, at, :], src=source[transfers - transfers % count + at])
    nisa.dma_copy(dst=witness, src=tile[0:1, (transfers - 1) % count, 0:1])
    return witness


# For whoever runs them ------------------------------------------------------------------------


def _chunks(size, dtype):
    """(chunks, 128, columns) of `size` bytes; None where they do not fill whole partitions."""
    item = ITEM[dtype]
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
    dtype = FLOATS[str(point["dtype"])]
    shape = _chunks(int(point["size"]), dtype)
    return None if shape is None else ((shape, dtype),) * 2


def dma_sweep_inputs(point):
    """Bytes, so that a run is what the axis says."""
    shape = tuple(int(point[name]) for name in ("transfers", "partitions", "bytes_per_partition"))
    return ((shape, "uint8"),)


hbm_read_reference = "trnbench_kernels.nki.references:hbm_read"
hbm_write_reference = "trnbench_kernels.nki.references:hbm_write"
hbm_copy_reference = "trnbench_kernels.nki.references:hbm_copy"
hbm_triad_reference = "trnbench_kernels.nki.references:hbm_triad"
dma_sweep_reference = "trnbench_kernels.nki.references:dma_sweep"
