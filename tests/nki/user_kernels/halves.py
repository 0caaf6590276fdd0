"""Two programs that use each other's half of a tensor, with a barrier wherever one waits for the other."""

import nki.isa as nisa
import nki.language as nl

import nki


@nki.jit
def halves_swapped(x):
    """The rows of x with both halves in each other's place, doubled, twice."""
    middle = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    half, me = x.shape[0] // 2, nl.program_id(0)
    mine, other = me * half, (1 - me) * half
    tile = nl.ndarray((half, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x[mine : mine + half])
    nisa.dma_copy(dst=middle[mine : mine + half], src=tile)
    nisa.core_barrier(middle, (0, 1))
    received = nl.ndarray((half, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=received, src=middle[other : other + half])
    doubled = nl.ndarray((half, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(dst=doubled, data1=received, data2=received, op=nl.add)
    nisa.dma_copy(dst=out[mine : mine + half], src=doubled)
    nisa.core_barrier(middle, (0, 1))
    nisa.dma_copy(dst=middle[mine : mine + half], src=doubled)
    return out, middle
