"""The product of a mixture of experts: every expert multiplies the tokens that were sent to it."""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki
from trnbench_kernels.nki.shapes import FLOATS
from trnbench_kernels.nki.tiles import hbm_tensor, loaded, psum_tile, sbuf_tile


@nki.jit
def expert_gemm(tokens, weights):
    """tokens (experts, hidden, tokens of each) · weights (experts, hidden, columns).

    The few tokens of an expert stay in the array while its weights, read once, stream past.
    """
    experts, hidden, count = tokens.shape
    columns = weights.shape[2]
    result = hbm_tensor((experts, count, columns), tokens.dtype)
    tile, wide = nl.tile_size.pmax, nl.tile_size.gemm_moving_fmax
    for expert in nl.affine_range(experts):
        held = []
        for k in nl.affine_range(0, hidden, tile):
            part = loaded(tokens[expert, k : min(k + tile, hidden)])
            held.append(part)
        for n in nl.affine_range(0, columns, 2 * wide):
            n_end = min(n + 2 * wide, columns)
            streamed = []
            for index in nl.affine_range(len(held)):
                k = index * tile
                part = loaded(weights[expert, k : k + held[index].shape[0], n:n_end])
                streamed.append(part)
            for m in nl.affine_range(0, count, tile):
                m_end = min(m + tile, count)
                out = sbuf_tile((m_end - m, n_end - n), result.dtype)
                for at in nl.affine_range(0, n_end - n, wide):
                    at_end = min(at + wide, n_end - n)
                    sums = psum_tile((m_end - m, at_end - at))
                    for index in nl.sequential_range(len(held)):
                        nisa.nc_matmul(
                            dst=sums,
                            stationary=held[index][:, m:m_end],
                            moving=streamed[index][:, at:at_end],
                        )
                    nisa.tensor_copy(dst=out[:, at:at_end], src=sums, engine=nisa.engine.vector)
                nisa.dma_copy(dst=result[expert, m:m_end, n:n_end], src=out)
    return result


# For whoever runs it --------------------------------------------------------------------------


def expert_gemm_inputs(point):
    """The tokens of every expert and its weights."""
    experts, tokens, hidden, columns = (
        int(point[name]) for name in ("experts", "tokens", "hidden", "columns")
    )
    dtype = FLOATS[str(point["dtype"])]
    return (((experts, hidden, tokens), dtype), ((experts, hidden, columns), dtype))


expert_gemm_reference = "trnbench_kernels.nki.references:expert_gemm"
