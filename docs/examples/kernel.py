"""A product in NKI, as a compiler would take it: `trnbench nki run docs/examples/kernel.py::matmul …`."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def matmul(a, b):
    """aᵀ · b, tile by tile: k x m and k x n give m x n, with k and m in steps of 128 and n of up to 512."""
    k, m = a.shape
    n = b.shape[1]
    out = nl.ndarray((m, n), dtype=a.dtype, buffer=nl.shared_hbm)
    for row in nl.affine_range(m // 128):
        sums = nl.ndarray((128, n), dtype=nl.float32, buffer=nl.psum)
        for part in nl.affine_range(k // 128):
            left = nl.ndarray((128, 128), dtype=a.dtype, buffer=nl.sbuf)
            right = nl.ndarray((128, n), dtype=b.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=left, src=a[part * 128 : part * 128 + 128, row * 128 : row * 128 + 128])
            nisa.dma_copy(dst=right, src=b[part * 128 : part * 128 + 128, 0:n])
            nisa.nc_matmul(dst=sums, stationary=left, moving=right)
        tile = nl.ndarray((128, n), dtype=a.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=tile, src=sums)
        nisa.dma_copy(dst=out[row * 128 : row * 128 + 128, 0:n], src=tile)
    return out


def matmul_reference(a, b):
    """What NumPy makes of it: `trnbench nki check … --check matmul_reference`."""
    return a.T @ b
