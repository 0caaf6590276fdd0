"""Tiles as several kernels load and multiply them, by the `nki` that their module was imported under."""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

__tracebackhide__ = True  # the lines of their instructions are those of the callers


def item_of(dtype):
    """Bytes of an element."""
    return 4 if dtype in (nl.float32, nl.tfloat32) else 2 if dtype in (nl.bfloat16, nl.float16) else 1


def hbm_tensor(shape, dtype):
    """A new tensor in device memory, for results."""
    return nl.ndarray(shape, dtype=dtype, buffer=nl.shared_hbm)


def sbuf_tile(shape, dtype=nl.float32):
    """A new tile in SBUF."""
    return nl.ndarray(shape, dtype=dtype, buffer=nl.sbuf)


def psum_tile(shape, dtype=nl.float32):
    """A new tile in PSUM, for sums of products unless it is of another type."""
    return nl.ndarray(shape, dtype=dtype, buffer=nl.psum)


def loaded(source, dtype=None):
    """`source` in SBUF; of another `dtype` it is turned into that on the way."""
    tile = sbuf_tile(source.shape, dtype or source.dtype)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def loaded_as(source, dtype):
    """`source` in SBUF, in another type where it has another."""
    tile = loaded(source)
    if source.dtype == dtype:
        return tile
    wide = sbuf_tile(source.shape, dtype)
    nisa.tensor_copy(dst=wide, src=tile, engine=nisa.engine.vector)
    return wide


def on_every_partition(source, row=0):
    """One row of `source`: read once, then copied on chip."""
    return nl.broadcast_to(loaded(source[row : row + 1]), (nl.tile_size.pmax, source.shape[1]))


def identity(count):
    return nl.shared_identity_matrix(count, dtype=nl.float32)


def multiplied(stationary, moving):
    """stationaryᵀ · moving, in a bank of its own."""
    bank = psum_tile((stationary.shape[1], moving.shape[1]))
    nisa.nc_matmul(dst=bank, stationary=stationary, moving=moving)
    return bank


def turned_dtype(dtype):
    """Of a tile in PSUM that the tensor engine transposes into: before NeuronCore-v3 it does so by a product,
    which leaves fp32."""
    return dtype if nisa.get_nc_version() >= nisa.nc_version.gen3 else nl.float32


def softmax_weights(scores, dtype, scale):
    """exp(scale · (scores - the largest of the row)), and one over the sums of its rows."""
    top = sbuf_tile((scores.shape[0], 1))
    nisa.tensor_reduce(dst=top, op=nl.maximum, data=scores, axis=1, negate=True)
    nisa.tensor_scalar(dst=top, data=top, op0=nl.multiply, operand0=scale)
    weights = sbuf_tile(scores.shape, dtype)
    total = sbuf_tile(top.shape)
    nisa.activation_reduce(
        dst=weights, op=nl.exp, data=scores, scale=scale, bias=top, reduce_op=nl.add, reduce_res=total
    )
    nisa.reciprocal(dst=total, data=total)
    return weights, total


# Panels of matrix products ----------------------------------------------------------------------


def product_dtype(dtype):
    """Of the result: narrower operands than two bytes leave bf16."""
    if item_of(dtype) == 1:
        return nl.bfloat16
    return nl.float32 if dtype == nl.tfloat32 else dtype


def panel_height(source):
    """Rows of the contraction that go through the array together: of 8-bit floats two at a time where the
    generation can do that."""
    new = nisa.get_nc_version() >= nisa.nc_version.gen3
    pairs = new and item_of(source.dtype) == 1 and source.shape[0] % (2 * nl.tile_size.pmax) == 0
    return nl.tile_size.pmax * (2 if pairs else 1)


def panel(source):
    """Rows of one operand in SBUF, as pairs where they are more than the array is high."""
    height, width = source.shape
    half = nl.tile_size.pmax
    if height <= half:
        return loaded(source)
    tile = sbuf_tile((half, 2, width), source.dtype)
    nisa.dma_copy(dst=tile[:, 0, :], src=source[0:half])
    nisa.dma_copy(dst=tile[:, 1, :], src=source[half:height])
    return tile


def multiply(bank, left, right, m, n):
    """Columns of two panels, from m and n on as many as the bank holds, added to what it holds."""
    m_end, n_end = m + bank.shape[0], n + bank.shape[1]
    if len(left.shape) == 3:
        nisa.nc_matmul(
            dst=bank,
            stationary=left[:, :, m:m_end],
            moving=right[:, :, n:n_end],
            perf_mode=nisa.matmul_perf_mode.double_row,
        )
    else:
        nisa.nc_matmul(dst=bank, stationary=left[:, m:m_end], moving=right[:, n:n_end])
