"""Matrix products of microscaled operands (MXFP8, MXFP4): C[M, N] = A[M, K] · B[K, N], NeuronCore-v4.

Both operands come quantised, with the contraction first and in words of four elements: word p of a
column holds elements 4p to 4p + 3 of the contraction. A word of 32 bits holds MXFP8 (E4M3), one of 16
bits MXFP4 (E2M1); frameworks know neither, so plain integers are taken for them. Scale g of a column
(E8M0) is that of elements 32g to 32g + 31, words 8g to 8g + 7: the format's blocks, in their order.

Scales are stored without gaps, and spread out when they are loaded: those of 32 words have to lie in
the first partitions of the quadrant that holds the words, four for each tile of the array.
"""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki
from trnbench_trn3.nki.shapes import product_inputs, product_pieces
from trnbench_trn3.nki.tiles import hbm_tensor, loaded, loaded_scales, psum_tile, sbuf_tile, words_of

BLOCK_K = 512  # words of the contraction held on chip at a time: as many scales as fit one tile
BLOCK_M, BLOCK_N = 1024, 2048  # of C


@nki.jit
def gemm_mx_naive(lhsT, rhs, lhsT_scale, rhs_scale):  # noqa: N803
    """One tile at a time: operands and scales are fetched again for every product of tiles."""
    left, right = words_of(lhsT), words_of(rhs)
    k_size, m_size = left.shape
    n_size = right.shape[1]
    result = hbm_tensor((m_size, n_size), nl.bfloat16)
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
                nisa.nc_matmul_mx(
                    dst=sums,
                    stationary=loaded(left[k:k_end, m:m_end]),
                    moving=loaded(right[k:k_end, n:n_end]),
                    stationary_scale=loaded_scales(lhsT_scale, k, k_end, m, m_end),
                    moving_scale=loaded_scales(rhs_scale, k, k_end, n, n_end),
                )
            out = sbuf_tile((m_end - m, n_end - n), nl.bfloat16)
            nisa.tensor_copy(dst=out, src=sums, engine=nisa.engine.vector)
            nisa.dma_copy(dst=result[m:m_end, n:n_end], src=out)
    return result


@nki.jit
def gemm_mx_blocked(lhsT, rhs, lhsT_scale, rhs_scale):  # noqa: N803
    """Blocks of both operands are fetched once and reused by every product of their tiles.

    A block of K is summed in PSUM; sums over several blocks stay in SBUF at fp32.
    """
    left, right = words_of(lhsT), words_of(rhs)
    k_size, m_size = left.shape
    n_size = right.shape[1]
    result = hbm_tensor((m_size, n_size), nl.bfloat16)
    tile_m, tile_n = nl.tile_size.gemm_stationary_fmax, nl.tile_size.gemm_moving_fmax

    for n0 in nl.affine_range(0, n_size, BLOCK_N):
        n1 = min(n0 + BLOCK_N, n_size)
        for m0 in nl.affine_range(0, m_size, BLOCK_M):
            m1 = min(m0 + BLOCK_M, m_size)
            totals = []
            for k0 in nl.sequential_range(0, k_size, BLOCK_K):
                k1 = min(k0 + BLOCK_K, k_size)
                first, last = k0 == 0, k1 == k_size
                lefts, rights = _tiles(left, k0, k1, m0, m1), _tiles(right, k0, k1, n0, n1)
                left_scales = loaded_scales(lhsT_scale, k0, k1, m0, m1)
                right_scales = loaded_scales(rhs_scale, k0, k1, n0, n1)
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
                            nisa.nc_matmul_mx(
                                dst=sums,
                                stationary=lefts[index][:, m:m_end],
                                moving=rights[index][:, n:n_end],
                                stationary_scale=left_scales[4 * index :, m:m_end],
                                moving_scale=right_scales[4 * index :, n:n_end],
                            )
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


def _tiles(source, k0, k1, start, end):
    """Words k0 to k1 of columns start to end, one tile per 128."""
    height = nl.tile_size.pmax
    return [loaded(source[k : min(k + height, k1), start:end]) for k in nl.affine_range(k0, k1, height)]


# For whoever runs them ------------------------------------------------------------------------

gemm_mx_blocked_inputs = gemm_mx_naive_inputs = product_inputs


def gemm_mx_blocked_pieces(inputs):
    """Blocks of C: each is a product by itself, so a large one repeats a few smaller ones."""
    return product_pieces(inputs, BLOCK_M, BLOCK_N)


def gemm_mx_naive_pieces(inputs):
    """Tiles of C: 128 rows by 512 columns, each with its whole contraction."""
    return product_pieces(inputs, 128, 512)


gemm_mx_naive_reference = "trnbench_trn3.nki.references:gemm_mx_naive"
gemm_mx_blocked_reference = "trnbench_trn3.nki.references:gemm_mx_blocked"
