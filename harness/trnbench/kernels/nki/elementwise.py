"""What is done element by element: sums of several operands, and the optimiser's update."""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki

CHUNK_BYTES = 8192  # of a partition, of each operand
BETA1, BETA2, EPSILON, RATE, DECAY = 0.9, 0.95, 1e-8, 1e-4, 0.1


@nki.jit
def combine(x, operands):
    """x + x + …, `operands` times, each of them read; of a single one its sigmoid linear unit."""
    rows, columns = x.shape
    result = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    chunk = min(_chunk(x.dtype), columns)
    for start in nl.affine_range(0, columns, chunk):
        end = min(start + chunk, columns)
        out = nl.ndarray((rows, end - start), dtype=x.dtype, buffer=nl.sbuf)
        first = _load(x, start, end)
        if operands == 1:
            nisa.activation(dst=out, op=nl.silu, data=first)
        for number in range(operands - 1):
            other = _load(x, start, end)
            nisa.tensor_tensor(dst=out, data1=out if number else first, data2=other, op=nl.add)
        nisa.dma_copy(dst=result[:, start:end], src=out)
    return result


def _load(source, start, end):
    tile = nl.ndarray((source.shape[0], end - start), dtype=source.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=source[:, start:end])
    return tile


def _chunk(dtype):
    return CHUNK_BYTES // (4 if dtype == nl.float32 else 2)


# For whoever runs them ------------------------------------------------------------------------


def combine_pieces(inputs):
    """Chunks of columns."""
    ((rows, columns), dtype), operands = inputs
    chunk = CHUNK_BYTES // (4 if dtype == "float32" else 2)
    whole, rest = divmod(columns, chunk)
    pieces = [((((rows, chunk), dtype), operands), whole)] if whole else []
    return (*pieces, *([((((rows, rest), dtype), operands), 1)] if rest else []))


combine_reference = "trnbench.kernels.nki.references:combine"
