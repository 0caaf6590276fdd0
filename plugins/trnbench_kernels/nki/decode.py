"""A few tokens at a time, as decoding has them: features lie on the partitions, tokens beside each other.

An activation of `features` × `tokens` comes as (rows, parts, tokens): feature part · rows + row. Weights lie
as transfers want them: every partition's share of a group of columns is one run.
"""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki
from trnbench_kernels.nki.shapes import ITEM, pieces_of
from trnbench_kernels.nki.tiles import hbm_tensor, item_of, loaded, psum_tile, sbuf_tile

RUN_BYTES = 16384  # a partition's share of one transfer of weights, at most
EPSILON = 1e-5


@nki.jit
def linear_few(x, w):
    """x (copies, rows, parts, tokens) by w (copies, rows, tiles, parts · columns): (copies, columns, tiles,
    tokens).

    The weights are read once, and each tile of them stays in the array while all tokens pass. Weights of
    another type than the tokens are turned into it on the way.
    """
    copies, _, parts, tokens = x.shape
    tiles, columns = w.shape[2], w.shape[3] // parts
    result = hbm_tensor((copies, columns, tiles, tokens), x.dtype)
    for copy in nl.affine_range(copies):
        held = loaded(x[copy])
        out = sbuf_tile(result.shape[1:], x.dtype)
        group = _group(w[copy])
        streamed = _weights(w[copy], 0, min(group, tiles), x.dtype)
        for step in nl.affine_range((tiles - 1) // group):
            first = (step + 1) * group
            following = _weights(w[copy], first, min(first + group, tiles), x.dtype)
            _tiles(out, held, streamed, step * group)
            streamed = following
        _tiles(out, held, streamed, (tiles - 1) // group * group)
        nisa.dma_copy(dst=result[copy], src=out)
    return result


def _group(w):
    """Tiles of weights that one transfer brings."""
    return max(min(RUN_BYTES // (w.shape[2] * item_of(w.dtype)), w.shape[1]), 1)


def _weights(w, first, last, dtype):
    return loaded(w[:, first:last], dtype)


def _tiles(out, held, streamed, first):
    parts, tokens = held.shape[1:]
    columns, chunk = streamed.shape[2] // parts, nl.tile_size.gemm_moving_fmax
    for index in nl.affine_range(streamed.shape[1]):
        for start in nl.affine_range(0, tokens, chunk):
            end = min(start + chunk, tokens)
            sums = psum_tile((columns, end - start))
            for part in nl.sequential_range(parts):
                nisa.nc_matmul(
                    dst=sums,
                    stationary=streamed[:, index, part * columns : (part + 1) * columns],
                    moving=held[:, part, start:end],
                )
            nisa.tensor_copy(dst=out[:, first + index, start:end], src=sums, engine=nisa.engine.vector)


@nki.jit
def norm_few(x, gamma):
    """x / sqrt(mean of squares + ε) · gamma, of x (rows, parts, tokens) and gamma (rows, parts)."""
    rows, _, tokens = x.shape
    result = hbm_tensor(x.shape, x.dtype)
    held, scale = loaded(x), loaded(gamma)
    ones = nl.ones((rows, rows), dtype=x.dtype)
    epsilon = nl.full((rows, 1), EPSILON, dtype=nl.float32)
    for start in nl.affine_range(0, tokens, nl.tile_size.pmax):
        end = min(start + nl.tile_size.pmax, tokens)
        _normalise(held[:, :, start:end], scale, ones, epsilon)
    nisa.dma_copy(dst=result, src=held)
    return result


def _normalise(held, scale, ones, epsilon):
    rows, parts, tokens = held.shape
    squares = sbuf_tile(held.shape, held.dtype)
    nisa.tensor_tensor(dst=squares, data1=held, data2=held, op=nl.multiply)
    sums = psum_tile((rows, tokens))
    for part in nl.sequential_range(parts):
        nisa.nc_matmul(dst=sums, stationary=ones, moving=squares[:, part, :])
    spread = sbuf_tile((rows, tokens))
    nisa.activation(dst=spread, op=nl.rsqrt, data=sums, scale=1.0 / (rows * parts), bias=epsilon)
    if tokens <= parts:
        for token in nl.affine_range(tokens):
            nisa.scalar_tensor_tensor(
                dst=held[:, :, token],
                data=held[:, :, token],
                op0=nl.multiply,
                operand0=spread[:, token : token + 1],
                op1=nl.multiply,
                operand1=scale,
            )
    else:
        for part in nl.affine_range(parts):
            nisa.scalar_tensor_tensor(
                dst=held[:, part, :],
                data=held[:, part, :],
                op0=nl.multiply,
                operand0=scale[:, part : part + 1],
                op1=nl.multiply,
                operand1=spread,
            )


# For whoever runs them ------------------------------------------------------------------------


def linear_few_pieces(inputs):
    """Groups of tiles of columns, of every copy: each is a product by itself."""
    ((copies, *x_shape), dtype), ((_, rows, tiles, run), stored) = inputs
    group = max(min(RUN_BYTES // (run * ITEM.get(stored, 1)), tiles), 1)
    return tuple(
        ((((1, *x_shape), dtype), ((1, rows, count, run), stored)), times * copies)
        for count, times in pieces_of(tiles, group)
    )


linear_few_reference = "trnbench_kernels.nki.step_references:linear_few"
norm_few_reference = "trnbench_kernels.nki.step_references:norm_few"
