"""Each of two programs writes its half and reads the other's, without a barrier in between."""

import nki.isa as nisa
import nki.language as nl

import nki


@nki.jit
def kernel(a):
    middle = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    half, me = a.shape[0] // 2, nl.program_id(0)
    mine, other = me * half, (1 - me) * half
    tile = nl.ndarray((half, a.shape[1]), dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=a[mine : mine + half])
    nisa.dma_copy(dst=middle[mine : mine + half], src=tile)
    nisa.dma_copy(dst=tile, src=middle[other : other + half])
    nisa.dma_copy(dst=out[mine : mine + half], src=tile)
    return out
