"""A matrix product as a user writes it, from the documentation alone: nothing of trnbench in it."""

import nki.isa as nisa
import nki.language as nl

import nki


@nki.jit
def tiled_matmul(lhsT, rhs):  # noqa: N803
    K, M = lhsT.shape  # noqa: N806
    _, N = rhs.shape  # noqa: N806
    TILE_M = nl.tile_size.gemm_stationary_fmax  # noqa: N806
    TILE_K = nl.tile_size.pmax  # noqa: N806
    TILE_N = nl.tile_size.gemm_moving_fmax  # noqa: N806
    assert (K % TILE_K, M % TILE_M, N % TILE_N) == (0, 0, 0)

    result = nl.ndarray((M, N), dtype=lhsT.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(M // TILE_M):
        lhs_tiles = []
        for k in nl.affine_range(K // TILE_K):
            tile = nl.load(lhsT[nl.ds(k * TILE_K, TILE_K), nl.ds(m * TILE_M, TILE_M)])
            lhs_tiles.append(tile)
        for n in nl.affine_range(N // TILE_N):
            acc = nl.zeros((TILE_M, TILE_N), dtype=nl.float32, buffer=nl.psum)
            for k in nl.sequential_range(K // TILE_K):
                rhs_tile = nl.load(rhs[k * TILE_K : (k + 1) * TILE_K, n * TILE_N : (n + 1) * TILE_N])
                nisa.nc_matmul(acc, lhs_tiles[k], rhs_tile)
            out = nl.ndarray(acc.shape, dtype=result.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(out, acc)
            nl.store(result[m * TILE_M : (m + 1) * TILE_M, n * TILE_N : (n + 1) * TILE_N], out)
    return result
