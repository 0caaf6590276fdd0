"""Two programs that hand each other a tile, to and fro: a launch on the cores of a logical core."""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki

ROWS = 128


@nki.jit
def exchange(x, through, count):
    """(2, 128, columns): each program sends its own part, then what came, again and again."""
    me, programs = nl.program_id(0), nl.num_programs(0)
    other = (me + 1) % programs
    engine = nisa.dma_engine.gpsimd_dma if through == "gpsimd" else nisa.dma_engine.dma
    result = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    one = nl.ndarray(x.shape[1:], dtype=x.dtype, buffer=nl.sbuf)
    two = nl.ndarray(x.shape[1:], dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=one, src=x[me])
    for _ in nl.sequential_range(count // 2):
        _sent(one, two, other, engine)
        _sent(two, one, other, engine)
    nisa.dma_copy(dst=result[me], src=one)
    return result


def _sent(src, dst, other, engine):
    nisa.sendrecv(src=src, dst=dst, send_to_rank=other, recv_from_rank=other, pipe_id=0, dma_engine=engine)


# For whoever runs it --------------------------------------------------------------------------


def exchange_inputs(point):
    """A tile for each of the two programs, by which DMA, and how often; None where that is odd."""
    count = int(point["exchanges"])
    if count % 2:
        return None
    shape = (2, ROWS, int(point["bytes_per_partition"]) // 4)
    return (shape, "float32"), str(point["through"]), count


def exchange_reference(x, through, count):  # noqa: ARG001
    """Each has its own again."""
    return x
