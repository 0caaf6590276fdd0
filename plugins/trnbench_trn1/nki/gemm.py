"""The matrix product in NKI Beta 1 (`neuronxcc.nki`, SDK 2.26 and before), for Trainium1.

Beta 1 calls return tiles and load and store by themselves, so `gemm` of today's NKI does not compile
there. `gemm_beta1` emulates it as public kernels of Beta 1 are emulated; the other products, which have a
source in today's NKI as well, take it on a machine with nothing else.
"""

# mypy: ignore-errors

from __future__ import annotations

from contextlib import suppress

with suppress(ImportError):  # the shapes below are asked for on machines without it, too
    import neuronxcc.nki.isa as nisa
    import neuronxcc.nki.language as nl

TILE_K, TILE_M, TILE_N = 128, 128, 512  # partitions, stationary and moving columns of a NeuronCore-v2


def gemm_tiled(lhsT, rhs):  # noqa: N803
    """C = lhsTᵀ · rhs, a tile of C at a time."""
    k_size, m_size = lhsT.shape
    n_size = rhs.shape[1]
    result = nl.ndarray((m_size, n_size), dtype=lhsT.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(m_size // TILE_M):
        for n in nl.affine_range(n_size // TILE_N):
            sums = nl.zeros((TILE_M, TILE_N), nl.float32, buffer=nl.psum)
            for k in nl.affine_range(k_size // TILE_K):
                left = nl.load(lhsT[k * TILE_K : (k + 1) * TILE_K, m * TILE_M : (m + 1) * TILE_M])
                right = nl.load(rhs[k * TILE_K : (k + 1) * TILE_K, n * TILE_N : (n + 1) * TILE_N])
                sums += nisa.nc_matmul(left, right)
            out = nl.copy(sums, dtype=result.dtype)
            nl.store(result[m * TILE_M : (m + 1) * TILE_M, n * TILE_N : (n + 1) * TILE_N], value=out)
    return result


_TYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}


def gemm_tiled_inputs(point):
    """((shape, dtype), …) of lhsT and rhs; None off the grid of tiles, and for other types."""
    if str(point["dtype"]) not in _TYPES or "sparsity" in point:
        return None
    m, n, k = (int(point.get(name, point.get("size", 0))) for name in ("m", "n", "k"))
    if m % TILE_M or n % TILE_N or k % TILE_K:
        return None
    dtype = _TYPES[str(point["dtype"])]
    return (((k, m), dtype), ((k, n), dtype))


def gemm_tiled_reference(lhsT, rhs):  # noqa: N803
    """lhsTᵀ · rhs."""
    return lhsT.T @ rhs
