"""Two tiles of different sizes are added."""

import nki.isa as nisa
import nki.language as nl

import nki


@nki.jit
def kernel(a):
    tile = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=a)
    nisa.tensor_tensor(dst=tile, data1=tile, data2=tile[:, 0:256], op=nl.add)
    out = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out
