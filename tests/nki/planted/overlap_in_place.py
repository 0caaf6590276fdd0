"""A tile is shifted by one column within itself."""

import nki.isa as nisa
import nki.language as nl

import nki


@nki.jit
def kernel(a):
    tile = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=a)
    nisa.tensor_copy(dst=tile[:, 1:512], src=tile[:, 0:511])
    out = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out
