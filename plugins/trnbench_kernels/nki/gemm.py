"""Matrix products in NKI: C[M, N] = lhsT[K, M]ᵀ · rhs[K, N].

The left operand comes transposed, because the tensor engine contracts over partitions. The same
source compiles for a device and runs under `trnbench.nki`.

Beside each kernel stand plain functions for whoever runs it: `…_inputs(point)`, the shapes and
data types of its arguments for a case (None where it cannot take the case), and where the problem falls into
independent pieces `…_pieces(inputs)`, each with how often it occurs.
"""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki
from trnbench_kernels.nki.shapes import product_inputs, product_pieces
from trnbench_kernels.nki.tiles import (
    hbm_tensor,
    item_of,
    multiply,
    panel,
    panel_height,
    product_dtype,
    psum_tile,
    sbuf_tile,
)

BLOCK_K = 1024  # contraction held on chip at a time
BLOCK_M = {1: 2048, 2: 1024, 4: 512}  # by bytes of an element: rows of 2 KiB and more …
BLOCK_N = {1: 2048, 2: 2048, 4: 1024}  # … that together with the sums fit the smallest SBUF


@nki.jit
def gemm_naive(lhsT, rhs):  # noqa: N803
    """One tile at a time: both operands are fetched again for every product of tiles."""
    k_size, m_size = lhsT.shape
    n_size = rhs.shape[1]
    result = hbm_tensor((m_size, n_size), product_dtype(lhsT.dtype))
    tile_k, tile_m, tile_n = (
        nl.tile_size.pmax,
        nl.tile_size.gemm_stationary_fmax,
        nl.tile_size.gemm_moving_fmax,
    )

    for m in nl.affine_range(0, m_size, tile_m):
        m_end = min(m + tile_m, m_size)
        for n in nl.affine_range(0, n_size, tile_n):
            n_end = min(n + tile_n, n_size)
            sums = psum_tile((m_end - m, n_end - n))
            for k in nl.sequential_range(0, k_size, tile_k):
                k_end = min(k + tile_k, k_size)
                left = sbuf_tile((k_end - k, m_end - m), lhsT.dtype)
                right = sbuf_tile((k_end - k, n_end - n), rhs.dtype)
                nisa.dma_copy(dst=left, src=lhsT[k:k_end, m:m_end])
                nisa.dma_copy(dst=right, src=rhs[k:k_end, n:n_end])
                nisa.nc_matmul(dst=sums, stationary=left, moving=right)
            out = sbuf_tile((m_end - m, n_end - n), result.dtype)
            nisa.tensor_copy(dst=out, src=sums, engine=nisa.engine.vector)
            nisa.dma_copy(dst=result[m:m_end, n:n_end], src=out)
    return result


@nki.jit
def gemm_blocked(lhsT, rhs):  # noqa: N803
    """Blocks of both operands are fetched once and reused by every product of their tiles.

    A block of K is summed in PSUM; sums over several blocks stay in SBUF at fp32. 8-bit floats use
    the tensor engine's double rows where the generation has them.
    """
    k_size, m_size = lhsT.shape
    n_size = rhs.shape[1]
    result = hbm_tensor((m_size, n_size), product_dtype(lhsT.dtype))
    tile_m, tile_n = nl.tile_size.gemm_stationary_fmax, nl.tile_size.gemm_moving_fmax
    item = item_of(lhsT.dtype)
    block_m, block_n = BLOCK_M[item], BLOCK_N[item]

    for n0 in nl.affine_range(0, n_size, block_n):
        n1 = min(n0 + block_n, n_size)
        for m0 in nl.affine_range(0, m_size, block_m):
            m1 = min(m0 + block_m, m_size)
            totals = []
            for k0 in nl.sequential_range(0, k_size, BLOCK_K):
                k1 = min(k0 + BLOCK_K, k_size)
                first, last = k0 == 0, k1 == k_size
                lefts = _panels(lhsT, k0, k1, m0, m1)
                rights = _panels(rhs, k0, k1, n0, n1)
                if first and not last:
                    for m in nl.affine_range(m0, m1, tile_m):
                        rows = min(m + tile_m, m1) - m
                        totals.append(sbuf_tile((rows, n1 - n0)))
                for m in nl.affine_range(0, m1 - m0, tile_m):
                    m_end = min(m + tile_m, m1 - m0)
                    if last:
                        out = sbuf_tile((m_end - m, n1 - n0), result.dtype)
                    for n in nl.affine_range(0, n1 - n0, tile_n):
                        n_end = min(n + tile_n, n1 - n0)
                        sums = psum_tile((m_end - m, n_end - n))
                        for index in nl.sequential_range(len(lefts)):
                            multiply(sums, lefts[index], rights[index], m, n)
                        target = out if last else totals[m // tile_m]
                        if first:
                            nisa.tensor_copy(dst=target[:, n:n_end], src=sums, engine=nisa.engine.vector)
                        else:
                            nisa.tensor_tensor(
                                dst=target[:, n:n_end],
                                data1=totals[m // tile_m][:, n:n_end],
                                data2=sums,
                                op=nl.add,
                            )
                    if last:
                        nisa.dma_copy(dst=result[m0 + m : m0 + m_end, n0:n1], src=out)
    return result


def _panels(source, k0, k1, start, end):
    """Rows k0 to k1 of columns start to end, one tile per 128 rows (256 as pairs for double rows)."""
    height = panel_height(source)
    return [panel(source[k : min(k + height, k1), start:end]) for k in nl.affine_range(k0, k1, height)]


# For whoever runs them ------------------------------------------------------------------------

gemm_blocked_inputs = gemm_naive_inputs = product_inputs


def gemm_naive_pieces(inputs):
    """Tiles of C: 128 rows by 512 columns, each with its whole contraction."""
    return product_pieces(inputs, 128, 512)


gemm_naive_reference = "trnbench_kernels.nki.references:gemm_naive"
gemm_blocked_reference = "trnbench_kernels.nki.references:gemm_blocked"
