"""A product begins in the middle of one PSUM bank and ends in the next."""

import nki.isa as nisa
import nki.language as nl

import nki


@nki.jit
def kernel(a):
    tile = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=a)
    banks = nl.ndarray((128, 1024), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=banks[:, 256:768], stationary=tile[:, 0:128], moving=tile)
    result = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=result, src=banks[:, 256:768])
    out = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=result)
    return out
