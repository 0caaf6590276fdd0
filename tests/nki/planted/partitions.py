"""A tile of 256 partitions."""

import nki.isa as nisa
import nki.language as nl

import nki


@nki.jit
def kernel(a):
    tile = nl.ndarray((256, 512), dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile[0:128], src=a)
    out = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile[0:128])
    return out
