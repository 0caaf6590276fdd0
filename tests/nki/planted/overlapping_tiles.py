"""The second tile is placed over the end of the first, which is still needed."""

import nki.isa as nisa
import nki.language as nl

import nki


@nki.jit
def kernel(a):
    first = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf, address=(0, 0))
    second = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.sbuf, address=(0, 1024))
    nisa.dma_copy(dst=first, src=a)
    nisa.memset(dst=second, value=1.0)
    nisa.tensor_tensor(dst=second, data1=first, data2=second, op=nl.add)
    out = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=second)
    return out
