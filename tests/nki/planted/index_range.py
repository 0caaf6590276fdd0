"""A slice ends behind the last column."""

import nki.isa as nisa
import nki.language as nl

import nki


@nki.jit
def kernel(a):
    tile = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)
    for step in nl.affine_range(3):
        nisa.dma_copy(dst=tile[:, step * 200 : step * 200 + 200], src=a[:, step * 200 : step * 200 + 200])
    out = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out
