"""Attention over a long cache was worked out span by span: the results of all spans as one."""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki
from trnbench_kernels.nki.tiles import hbm_tensor, loaded, psum_tile, sbuf_tile


@nki.jit
def spans_merged(parts, logs):
    """parts (spans, columns, wide, heads), each span's own attention; logs (spans, heads), the logarithms of
    what its weights add up to. Returns Σ exp(log) · part / Σ exp(log): (columns, wide, heads)."""
    columns, wide, heads = parts.shape[1:]
    result = hbm_tensor((columns, wide, heads), parts.dtype)
    ones = nl.full((1, columns), 1.0, dtype=nl.float32)
    for start in nl.affine_range(0, heads, nl.tile_size.gemm_moving_fmax):
        end = min(start + nl.tile_size.gemm_moving_fmax, heads)
        out = sbuf_tile((columns, wide, end - start))
        for span, share in enumerate(_shares(logs[:, start:end])):
            spread = psum_tile((columns, end - start))
            nisa.nc_matmul(dst=spread, stationary=ones, moving=share)
            part = loaded(parts[span][:, :, start:end])
            for each in nl.affine_range(wide):
                weighed = out[:, each, :]
                if span:
                    weighed = sbuf_tile((columns, end - start))
                nisa.tensor_tensor(dst=weighed, data1=part[:, each, :], data2=spread, op=nl.multiply)
                if span:
                    nisa.tensor_tensor(dst=out[:, each, :], data1=out[:, each, :], data2=weighed, op=nl.add)
        ready = sbuf_tile(out.shape, parts.dtype)
        nisa.tensor_copy(dst=ready, src=out, engine=nisa.engine.vector)
        nisa.dma_copy(dst=result[:, :, start:end], src=ready)
    return result


def _shares(logs):
    """What each span's attention counts: a row of all heads."""
    spans, heads = logs.shape
    rows = [loaded(logs[span : span + 1], nl.float32) for span in range(spans)]
    top = sbuf_tile((1, heads))
    nisa.tensor_tensor(dst=top, data1=rows[0], data2=rows[1], op=nl.maximum)
    for row in rows[2:]:
        nisa.tensor_tensor(dst=top, data1=top, data2=row, op=nl.maximum)
    total = nl.zeros((1, heads), dtype=nl.float32)
    for row in rows:
        nisa.tensor_tensor(dst=row, data1=row, data2=top, op=nl.subtract)
        nisa.activation(dst=row, op=nl.exp, data=row)
        nisa.tensor_tensor(dst=total, data1=total, data2=row, op=nl.add)
    nisa.reciprocal(dst=total, data=total)
    for row in rows:
        nisa.tensor_tensor(dst=row, data1=row, data2=total, op=nl.multiply)
    return rows


# For whoever runs it --------------------------------------------------------------------------

spans_merged_reference = "trnbench_kernels.nki.step_references:spans_merged"
