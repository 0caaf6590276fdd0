"""Scaled dot-product attention, forward: a row of scores at a time stays on chip.

q and k come as (heads, width, tokens), because the tensor engine contracts over partitions; v and the
result as (heads, tokens, width).
"""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki

_NAMES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
_MASKED = -30000.0  # its exponential is 0 in every type
_LIMIT = 8192  # keys whose scores, exponentials and values fit SBUF in every type


@nki.jit
def attention(q, k, v, causal):
    """All pairs, or keys up to the query's own: tiles that lie wholly in the future are left out."""
    heads, width, tokens = q.shape
    result = nl.ndarray(v.shape, dtype=v.dtype, buffer=nl.shared_hbm)
    tile, chunk = nl.tile_size.pmax, nl.tile_size.gemm_moving_fmax
    scale = width**-0.5
    for head in nl.affine_range(heads):
        keys = nl.ndarray((width, tokens), dtype=k.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=keys, src=k[head])
        values = nl.ndarray((tile, tokens // tile, width), dtype=v.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=values, src=v[head].reshape((tokens // tile, tile, width)).permute((1, 0, 2)))
        for start in nl.affine_range(0, tokens, tile):
            queries = nl.ndarray((width, tile), dtype=q.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=queries, src=q[head, :, start : start + tile])
            seen = start + tile if causal else tokens
            scores = nl.ndarray((tile, seen), dtype=nl.float32, buffer=nl.sbuf)
            for key in nl.affine_range(0, seen, chunk):
                end = min(key + chunk, seen)
                product = nl.ndarray((tile, end - key), dtype=nl.float32, buffer=nl.psum)
                nisa.nc_matmul(dst=product, stationary=queries, moving=keys[:, key:end])
                nisa.tensor_copy(dst=scores[:, key:end], src=product)
            if causal:
                nisa.affine_select(
                    dst=scores[:, start:seen],
                    pattern=[[-1, tile]],
                    channel_multiplier=1,
                    on_true_tile=scores[:, start:seen],
                    on_false_value=_MASKED / scale,
                    cmp_op=nl.greater_equal,
                )
            top = nl.ndarray((tile, 1), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_reduce(dst=top, op=nl.maximum, data=scores, axis=1, negate=True)
            nisa.tensor_scalar(dst=top, data=top, op0=nl.multiply, operand0=scale)
            weights = nl.ndarray((tile, seen), dtype=q.dtype, buffer=nl.sbuf)
            total = nl.ndarray((tile, 1), dtype=nl.float32, buffer=nl.sbuf)
            nisa.activation_reduce(
                dst=weights, op=nl.exp, data=scores, scale=scale, bias=top, reduce_op=nl.add, reduce_res=total
            )
            nisa.reciprocal(dst=total, data=total)
            _weigh(result[head, start : start + tile], weights, values, total)
    return result


def _weigh(target, weights, values, share):
    """target = (weights · values) · share; the weights are turned, keys to the partitions, on the way."""
    tile, seen = weights.shape
    kind = weights.dtype if nisa.get_nc_version() >= nisa.nc_version.gen3 else nl.float32
    sums = nl.ndarray((tile, values.shape[2]), dtype=nl.float32, buffer=nl.psum)
    for part in nl.sequential_range(seen // tile):
        turned = nl.ndarray((tile, tile), dtype=kind, buffer=nl.psum)
        nisa.nc_transpose(dst=turned, data=weights[:, part * tile : (part + 1) * tile])
        ready = nl.ndarray((tile, tile), dtype=weights.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=ready, src=turned)
        nisa.nc_matmul(dst=sums, stationary=ready, moving=values[:, part, :])
    out = nl.ndarray(sums.shape, dtype=target.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(dst=out, data=sums, op0=nl.multiply, operand0=share)
    nisa.dma_copy(dst=target, src=out)


# For whoever runs them ------------------------------------------------------------------------


def attention_inputs(point):
    """q, k, v and the mask; None for tokens that are no multiple of 128 or too many to be held at once, and
    for wider heads than the array."""
    heads, width, tokens = (int(point[name]) for name in ("heads", "head_dim", "seq"))
    dtype = _NAMES[str(point["dtype"])]
    if tokens % 128 or width > 128 or tokens > _LIMIT:
        return None
    by_width, by_token = ((heads, width, tokens), dtype), ((heads, tokens, width), dtype)
    return (by_width, by_width, by_token, point["mask"] == "causal")


def attention_pieces(inputs):
    """Heads."""
    *tensors, causal = inputs
    heads = tensors[0][0][0]
    return (((*(((1, *shape[1:]), dtype) for shape, dtype in tensors), causal), heads),)
