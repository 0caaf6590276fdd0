"""Half of a tile is loaded, all of it is used."""

import nki.isa as nisa
import nki.language as nl

import nki


@nki.jit
def kernel(a):
    tile = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile[0:64], src=a[0:64])
    result = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=result, data=tile, op0=nl.multiply, operand0=2.0)
    out = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=result)
    return out
