"""The short convolution before linear attention: each feature over its last few tokens."""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki
from trnbench_kernels.nki.tiles import hbm_tensor, loaded_as, sbuf_tile

RUN = 2048  # tokens that are held at once


@nki.jit
def short_convolution(x, taps):
    """silu(Σ taps[·, t] · x[·, token + t]): x (rows, parts, tokens + taps - 1), taps (rows, parts, taps)."""
    rows, parts, count = taps.shape
    tokens = x.shape[2] - count + 1
    result = hbm_tensor((rows, parts, tokens), x.dtype)
    if tokens == 1:
        weights = loaded_as(taps, x.dtype)
        held = loaded_as(x, x.dtype)
        out = sbuf_tile(result.shape, x.dtype)
        each = sbuf_tile(taps.shape)
        nisa.tensor_tensor(dst=each, data1=held, data2=weights, op=nl.multiply)
        sums = sbuf_tile((rows, parts))
        nisa.tensor_reduce(dst=sums, op=nl.add, data=each, axis=2)
        nisa.activation(dst=out[:, :, 0], op=nl.silu, data=sums)
        nisa.dma_copy(dst=result, src=out)
        return result
    weights = loaded_as(taps, nl.float32)  # operands of tensor_scalar are
    for part in nl.affine_range(parts):
        for start in nl.affine_range(0, tokens, RUN):
            end = min(start + RUN, tokens)
            held = loaded_as(x[:, part, start : end + count - 1], x.dtype)
            sums = sbuf_tile((rows, end - start))
            nisa.tensor_scalar(
                dst=sums, data=held[:, 0 : end - start], op0=nl.multiply, operand0=weights[:, part, 0:1]
            )
            for tap in range(1, count):
                nisa.scalar_tensor_tensor(
                    dst=sums,
                    data=held[:, tap : tap + end - start],
                    op0=nl.multiply,
                    operand0=weights[:, part, tap : tap + 1],
                    op1=nl.add,
                    operand1=sums,
                )
            out = sbuf_tile(sums.shape, x.dtype)
            nisa.activation(dst=out, op=nl.silu, data=sums)
            nisa.dma_copy(dst=result[:, part, start:end], src=out)
    return result


# For whoever runs it --------------------------------------------------------------------------

short_convolution_reference = "trnbench_kernels.nki.step_references:short_convolution"
