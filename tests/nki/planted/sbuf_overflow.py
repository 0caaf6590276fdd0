"""Two tiles together are larger than SBUF."""

import nki.isa as nisa
import nki.language as nl

import nki


@nki.jit
def kernel(a):
    first = nl.ndarray((128, 32768), dtype=nl.float32, buffer=nl.sbuf)
    second = nl.ndarray((128, 32768), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=first, value=1.0)
    nisa.memset(dst=second, value=2.0)
    nisa.tensor_tensor(dst=first, data1=first, data2=second, op=nl.add)
    out = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=first[:, 0:512])
    return out
