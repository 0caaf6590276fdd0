"""Attention of one new token of each sequence over a cache, as decoding has it."""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki
from trnbench_kernels.nki.shapes import pieces_of
from trnbench_kernels.nki.tiles import hbm_tensor, loaded, psum_tile, sbuf_tile, softmax_weights, turned_dtype

HELD = 160 << 10  # bytes of a partition for keys, values, scores and weights
GROUP = 4  # tiles of weights that are turned together


@nki.jit
def attention_cached(q, k, v):
    """One query token of each head over cached keys and values.

    q (caches, rows, parts, heads), k (caches, rows, parts, keys), v (caches, 128, keys / 128, width): heads
    share each of the caches. Key p · (keys / 128) + j has its value in place j of partition p. The result is
    (caches, columns, width / columns, heads).

    The heads of a cache take few partitions: as many caches as there is room for lie below each other. The
    scores of the next ones are found while the weights of these are turned.
    """
    caches, rows, parts, heads = q.shape
    width = v.shape[3]
    columns = min(width, nl.tile_size.pmax)
    result = hbm_tensor((caches, columns, (width + columns - 1) // columns, heads), q.dtype)
    stack = _stack(q.shape, k.shape, v.shape)
    high = nl.tile_size.pmax // _below(heads)
    scale = (rows * parts) ** -0.5
    scores, values = _scores(q, k, v, 0, min(stack, caches), high)
    for step in nl.affine_range((caches - 1) // stack):
        first = (step + 1) * stack
        weights = _weights_of(scores, q.dtype, scale)
        next_scores, next_values = _scores(q, k, v, first, min(first + stack, caches), high)
        _weigh(result, weights, values, step * stack, heads)
        scores, values = next_scores, next_values
    weights = _weights_of(scores, q.dtype, scale)
    _weigh(result, weights, values, (caches - 1) // stack * stack, heads)
    return result


def _below(heads):
    """Caches whose heads have room below each other: results of the tensor engine begin at every 32nd
    partition."""
    return 4 if heads <= 32 else 2 if heads <= 64 else 1


def _stack(q, k, v):
    """As many of them as SBUF holds twice, with scores and weights."""
    (_, parts, heads), (_, _, _, keys), (_, _, spread, width) = q[1:], k, v
    each = 2 * 2 * (parts * keys + spread * width)
    return next((count for count in (4, 2) if count <= _below(heads) and count * each + 12 * keys <= HELD), 1)


def _scores(q, k, v, first, last, high):
    """qᵀ · k of these caches, below each other, and their values."""
    rows, parts, heads = q.shape[1:]
    count, chunk = k.shape[3], nl.tile_size.gemm_moving_fmax
    keys, queries, values = [], [], []
    for cache in range(first, last):
        padded = nl.zeros((rows, parts, high), dtype=q.dtype)
        nisa.dma_copy(dst=padded[:, :, 0:heads], src=q[cache])
        queries.append(padded)
        keys.append(loaded(k[cache], q.dtype))
        values.append(loaded(v[cache], q.dtype))
    scores = sbuf_tile(((last - first) * high, count))
    for start in nl.affine_range(0, count, chunk):
        end = min(start + chunk, count)
        product = psum_tile((scores.shape[0], end - start))
        for cache in range(last - first):
            for part in nl.sequential_range(parts):
                nisa.nc_matmul(
                    dst=product[cache * high : (cache + 1) * high],
                    stationary=queries[cache][:, part, :],
                    moving=keys[cache][:, part, start:end],
                )
        nisa.activation(dst=scores[:, start:end], op=nl.copy, data=product)
    return scores, values


def _weights_of(scores, dtype, scale):
    """The softmax of scaled scores."""
    weights, total = softmax_weights(scores, dtype, scale)
    nisa.tensor_scalar(dst=weights, data=weights, op0=nl.multiply, operand0=total)
    return weights


def _weigh(result, weights, values, first, heads):
    """The values of these caches, weighed and added up."""
    spread = values[0].shape[1]
    columns, wide = result.shape[1:3]
    high = weights.shape[0] // len(values)
    sums = [psum_tile((columns, wide * heads)) for _ in values]
    for start in nl.sequential_range(0, spread, GROUP):
        turned = _turned(weights, spread, start, min(GROUP, spread - start))
        for index in nl.sequential_range(turned.shape[1]):
            for cache in range(len(values)):
                for part in range(wide):
                    nisa.nc_matmul(
                        dst=sums[cache][:, part * heads : (part + 1) * heads],
                        stationary=values[cache][:, start + index, part * columns : (part + 1) * columns],
                        moving=turned[:, index, cache * high : cache * high + heads],
                    )
    for cache in range(len(values)):
        out = sbuf_tile((columns, wide, heads), result.dtype)
        nisa.tensor_copy(dst=out, src=sums[cache].reshape((columns, wide, heads)), engine=nisa.engine.vector)
        nisa.dma_copy(dst=result[first + cache], src=out)


def _turned(weights, spread, first, count):
    """Weights of the keys in places `first` on of every partition, keys on the partitions."""
    high, tile = weights.shape[0], nl.tile_size.pmax
    by_place = weights.reshape((high, tile, spread))
    turned = psum_tile((tile, count, high), turned_dtype(weights.dtype))
    for index in nl.affine_range(count):
        nisa.nc_transpose(dst=turned[:, index, :], data=by_place[:, :, first + index])
    ready = sbuf_tile(turned.shape, weights.dtype)
    nisa.tensor_copy(dst=ready, src=turned, engine=nisa.engine.vector)
    return ready


# For whoever runs it --------------------------------------------------------------------------


def attention_cached_pieces(inputs):
    """As many caches as lie below each other."""
    caches, stack = inputs[0][0][0], _stack(*(shape for shape, _ in inputs))
    return tuple(
        (tuple(((count, *shape[1:]), dtype) for shape, dtype in inputs), times)
        for count, times in pieces_of(caches, stack)
    )


attention_cached_reference = "trnbench_kernels.nki.step_references:attention_cached"
