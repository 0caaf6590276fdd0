"""Scaled dot-product attention, forward: a row of scores at a time stays on chip.

q and k come as (heads, width, tokens), because the tensor engine contracts over partitions; v and the
result as (heads, tokens, width).
"""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki
from trnbench_kernels.nki.shapes import FLOATS
from trnbench_kernels.nki.tiles import hbm_tensor, loaded, psum_tile, sbuf_tile, softmax_weights, turned_dtype

_MASKED = -30000.0  # its exponential is 0 in every type
GROUP = 4  # tiles of weights that are turned together
_LIMIT = 8192  # keys whose scores, exponentials and values fit SBUF in every type


@nki.jit
def attention(q, k, v, causal, first=0, every=1):
    """All pairs, or keys up to the query's own: tiles that lie wholly in the future are left out.

    q may be a core's share of the queries: of their tiles number `first`, then each `every`-th one.
    """
    heads, width, queries = q.shape
    tokens = k.shape[2]
    result = hbm_tensor((heads, queries, width), v.dtype)
    tile = nl.tile_size.pmax
    scale = width**-0.5
    for head in nl.affine_range(heads):
        # The keys of the head before end where these begin: both do not have to lie in SBUF together.
        keys = sbuf_tile((width, tokens), k.dtype)
        nisa.dma_copy(dst=keys, src=k[head])
        values = sbuf_tile((tile, tokens // tile, width), v.dtype)
        nisa.dma_copy(dst=values, src=v[head].reshape((tokens // tile, tile, width)).permute((1, 0, 2)))
        own = first * tile
        weights, total = _weights(_scores(q, head, 0, own, keys, causal), own, q.dtype, causal, scale)
        for start in nl.sequential_range(tile, queries, tile):
            own = first * tile + start * every
            # The scores of these queries are on their way while the weights before them are multiplied.
            scores = _scores(q, head, start, own, keys, causal)
            _weigh(result[head, start - tile : start], weights, values, total)
            weights, total = _weights(scores, own, q.dtype, causal, scale)
        _weigh(result[head, queries - tile : queries], weights, values, total)
    return result


def _scores(q, head, start, own, keys, causal):
    """The products of the queries from `start` on with all keys, or with those up to their `own`."""
    tile, chunk = nl.tile_size.pmax, nl.tile_size.gemm_moving_fmax
    queries = loaded(q[head, :, start : start + tile])
    seen = own + tile if causal else keys.shape[1]
    scores = sbuf_tile((tile, seen))
    for key in nl.affine_range(0, seen, chunk):
        end = min(key + chunk, seen)
        product = psum_tile((tile, end - key))
        nisa.nc_matmul(dst=product, stationary=queries, moving=keys[:, key:end])
        nisa.activation(dst=scores[:, key:end], op=nl.copy, data=product)
    return scores


def _weights(scores, start, dtype, causal, scale):
    """exp(scores - max), and one over the sums of its rows."""
    tile, seen = scores.shape
    if causal:
        nisa.affine_select(
            dst=scores[:, start:seen],
            pattern=[[-1, tile]],
            channel_multiplier=1,
            on_true_tile=scores[:, start:seen],
            on_false_value=_MASKED / scale,
            cmp_op=nl.greater_equal,
        )
    return softmax_weights(scores, dtype, scale)


def _weigh(target, weights, values, share):
    """target = (weights · values) · share; the weights are turned, keys to the partitions, on the way.

    Four tiles are turned into one bank and leave it together, while the four before are multiplied.
    """
    tile, seen = weights.shape
    parts = seen // tile
    sums = psum_tile((tile, values.shape[2]))
    ready = _turned(weights, 0, min(GROUP, parts))
    for group in nl.sequential_range((parts - 1) // GROUP):
        first = (group + 1) * GROUP
        following = _turned(weights, first, min(GROUP, parts - first))
        _add(sums, ready, values, group * GROUP)
        ready = following
    _add(sums, ready, values, (parts - 1) // GROUP * GROUP)
    out = sbuf_tile(sums.shape, target.dtype)
    nisa.tensor_scalar(dst=out, data=sums, op0=nl.multiply, operand0=share)
    nisa.dma_copy(dst=target, src=out)


def _turned(weights, first, count):
    """Tiles of weights from `first` on, each with its keys on the partitions, one beside the other."""
    tile = weights.shape[0]
    turned = psum_tile((tile, count * tile), turned_dtype(weights.dtype))
    for part in nl.affine_range(count):
        start = (first + part) * tile
        nisa.nc_transpose(
            dst=turned[:, part * tile : (part + 1) * tile], data=weights[:, start : start + tile]
        )
    ready = sbuf_tile(turned.shape, weights.dtype)
    nisa.tensor_copy(dst=ready, src=turned, engine=nisa.engine.vector)
    return ready


def _add(sums, ready, values, first):
    tile = ready.shape[0]
    for part in nl.sequential_range(ready.shape[1] // tile):
        nisa.nc_matmul(
            dst=sums,
            stationary=ready[:, part * tile : (part + 1) * tile],
            moving=values[:, first + part, :],
        )


# For whoever runs them ------------------------------------------------------------------------


def attention_inputs(point):
    """q, k, v, the mask and which tiles of queries; None for tokens that are no multiple of 128 or too many
    to be held at once, and for wider heads than the array."""
    heads, width, tokens = (int(point[name]) for name in ("heads", "head_dim", "seq"))
    dtype = FLOATS[str(point["dtype"])]
    if tokens % 128 or width > 128 or tokens > _LIMIT:
        return None
    by_width, by_token = ((heads, width, tokens), dtype), ((heads, tokens, width), dtype)
    queries = ((heads, width, int(point.get("queries", tokens))), dtype)
    causal = point["mask"] == "causal"
    # Without a mask all tiles are alike.
    dealt = (point.get("first", 0), point.get("every", 1)) if causal else (0, 1)
    return (queries, by_width, by_token, causal, *dealt)


def attention_pieces(inputs):
    """Heads."""
    tensors, rest = inputs[:3], inputs[3:]
    heads = tensors[0][0][0]
    return (((*(((1, *shape[1:]), dtype) for shape, dtype in tensors), *rest), heads),)


attention_reference = "trnbench_kernels.nki.references:attention"
