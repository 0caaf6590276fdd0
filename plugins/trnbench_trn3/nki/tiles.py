"""Tiles of microscaled operands as kernels load them, by the `nki` that their module was imported under."""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

from trnbench_trn3.nki.shapes import GROUP

__tracebackhide__ = True  # the lines of their instructions are those of the callers
QUADRANT = 32  # partitions


def hbm_tensor(shape, dtype):
    """A new tensor in device memory, for results."""
    return nl.ndarray(shape, dtype=dtype, buffer=nl.shared_hbm)


def sbuf_tile(shape, dtype=nl.float32):
    """A new tile in SBUF."""
    return nl.ndarray(shape, dtype=dtype, buffer=nl.sbuf)


def psum_tile(shape, dtype=nl.float32):
    """A new tile in PSUM, for sums of products unless it is of another type."""
    return nl.ndarray(shape, dtype=dtype, buffer=nl.psum)


def loaded(source):
    """`source` in SBUF."""
    tile = sbuf_tile(source.shape, source.dtype)
    nisa.dma_copy(dst=tile, src=source)
    return tile


def words_of(operand):
    """Integers as the packed elements they stand for."""
    if operand.dtype == nl.uint32:
        return operand.view(nl.float8_e4m3fn_x4)
    return operand.view(nl.float4_e2m1fn_x4) if operand.dtype == nl.uint16 else operand


def loaded_scales(source, k, k_end, start, end):
    """Scales of words k to k_end: of tile t in partitions 4t to 4t + 3 of each quadrant."""
    height = nl.tile_size.pmax
    tile = sbuf_tile((min(k_end - k, height), end - start), source.dtype)
    whole, rest = divmod(k_end - k, height)
    first = k // GROUP
    below = first + whole * height // GROUP
    if whole:
        # One transfer per quadrant: four rows of each tile, which lie 16 rows apart.
        rows = source[first:below, start:end].reshape_dim(0, (whole, height // QUADRANT, 4))
        for quadrant in nl.affine_range(height // QUADRANT):
            at = quadrant * QUADRANT
            nisa.dma_copy(dst=tile[at : at + 4 * whole], src=rows[:, quadrant])
    for quadrant in nl.affine_range(rest // QUADRANT):
        at, row = quadrant * QUADRANT + 4 * whole, below + 4 * quadrant
        nisa.dma_copy(dst=tile[at : at + 4], src=source[row : row + 4, start:end])
    return tile
