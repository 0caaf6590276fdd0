"""A gather of rows by an index that lies outside."""

import nki.isa as nisa
import nki.language as nl

import nki


@nki.jit
def kernel(a):
    index = nl.ndarray((128, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.iota(dst=index, pattern=[[0, 1]], offset=1, channel_multiplier=1)
    tile = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=a.ap([[512, 128], [1, 512]], vector_offset=index))
    out = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out
