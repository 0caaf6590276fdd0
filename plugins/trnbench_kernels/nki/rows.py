"""Normalisations over rows, 128 rows at a time: softmax, layer norm, RMS norm."""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki
from trnbench_kernels.nki.shapes import FLOATS
from trnbench_kernels.nki.tiles import hbm_tensor, loaded, on_every_partition, sbuf_tile

EPSILON = 1e-5


@nki.jit
def softmax(x):
    """exp(x - max) / sum, with the sum taken while the exponentials are computed.

    While one group of rows is scaled the next is exponentiated and the one after is on its way: no
    engine waits for another.
    """
    result = hbm_tensor(x.shape, x.dtype)
    pmax = nl.tile_size.pmax
    groups, rest = divmod(x.shape[0], pmax)
    if groups > 1:
        grown, total = _exponentials(loaded(x[0:pmax]))
        tile = loaded(x[pmax : 2 * pmax])
        for at in nl.sequential_range(groups - 2):
            following = loaded(x[(at + 2) * pmax : (at + 3) * pmax])
            next_grown, next_total = _exponentials(tile)
            _scaled(result[at * pmax : (at + 1) * pmax], grown, total)
            tile, grown, total = following, next_grown, next_total
        next_grown, next_total = _exponentials(tile)
        _scaled(result[(groups - 2) * pmax : (groups - 1) * pmax], grown, total)
        _scaled(result[(groups - 1) * pmax : groups * pmax], next_grown, next_total)
    elif groups:
        _scaled(result[0:pmax], *_exponentials(loaded(x[0:pmax])))
    if rest:
        _scaled(result[groups * pmax :], *_exponentials(loaded(x[groups * pmax :])))
    return result


def _exponentials(tile):
    size = tile.shape[0]
    top = sbuf_tile((size, 1))
    total = sbuf_tile((size, 1))
    grown = sbuf_tile(tile.shape, tile.dtype)
    nisa.tensor_reduce(dst=top, op=nl.maximum, data=tile, axis=1, negate=True)
    nisa.activation_reduce(dst=grown, op=nl.exp, data=tile, bias=top, reduce_op=nl.add, reduce_res=total)
    return grown, total


def _scaled(target, grown, total):
    nisa.reciprocal(dst=total, data=total)
    nisa.tensor_scalar(dst=grown, data=grown, op0=nl.multiply, operand0=total)
    nisa.dma_copy(dst=target, src=grown)


@nki.jit
def layer_norm(x, gamma, beta):
    """(x - mean) / sqrt(variance + ε) · gamma + beta, statistics by bn_stats."""
    return _normalised(x, on_every_partition(gamma), on_every_partition(beta))


@nki.jit
def rms_norm(x, gamma):
    """x / sqrt(mean of squares + ε) · gamma."""
    return _normalised(x, on_every_partition(gamma), None)


def _normalised(x, scale, shift):
    """The layer norm of x, or without a `shift` its RMS norm."""
    result = hbm_tensor(x.shape, x.dtype)
    pmax = nl.tile_size.pmax
    epsilon = nl.full((pmax, 1), EPSILON, dtype=nl.float32)
    groups, rest = divmod(x.shape[0], pmax)
    if groups:
        tile = loaded(x[0:pmax])
        for at in nl.sequential_range(groups - 1):
            # The rows that come next are on their way before these are computed and stored.
            following = loaded(x[(at + 1) * pmax : (at + 2) * pmax])
            _norm(result[at * pmax : (at + 1) * pmax], tile, scale, shift, epsilon)
            tile = following
        _norm(result[(groups - 1) * pmax : groups * pmax], tile, scale, shift, epsilon)
    if rest:
        tile = loaded(x[groups * pmax :])
        _norm(result[groups * pmax :], tile, scale, shift, epsilon)
    return result


def _norm(target, tile, scale, shift, epsilon):
    if shift is None:
        _rms_norm(target, tile, scale, epsilon)
    else:
        _layer_norm(target, tile, scale, shift, epsilon)


def _layer_norm(target, tile, scale, shift, epsilon):
    size, columns = tile.shape
    chunk = nl.tile_size.bn_stats_fmax
    parts = (columns + chunk - 1) // chunk
    stats = sbuf_tile((size, 6 * parts))
    for part in nl.affine_range(parts):
        end = min((part + 1) * chunk, columns)
        nisa.bn_stats(dst=stats[:, 6 * part : 6 * part + 6], data=tile[:, part * chunk : end])
    moments = sbuf_tile((size, 2))
    nisa.bn_aggr(dst=moments, data=stats)
    spread = sbuf_tile((size, 1))
    nisa.activation(dst=spread, op=nl.rsqrt, data=moments[:, 1:2], bias=epsilon[0:size])
    out = sbuf_tile((size, columns), tile.dtype)
    nisa.tensor_scalar(
        dst=out, data=tile, op0=nl.subtract, operand0=moments[:, 0:1], op1=nl.multiply, operand1=spread
    )
    nisa.tensor_tensor(dst=out, data1=out, data2=scale[0:size], op=nl.multiply)
    nisa.tensor_tensor(dst=out, data1=out, data2=shift[0:size], op=nl.add)
    nisa.dma_copy(dst=target, src=out)


def _rms_norm(target, tile, scale, epsilon):
    size, columns = tile.shape
    squares = sbuf_tile((size, columns), tile.dtype)
    total = sbuf_tile((size, 1))
    nisa.activation_reduce(dst=squares, op=nl.square, data=tile, reduce_op=nl.add, reduce_res=total)
    nisa.activation(dst=total, op=nl.rsqrt, data=total, scale=1.0 / columns, bias=epsilon[0:size])
    out = sbuf_tile((size, columns), tile.dtype)
    nisa.scalar_tensor_tensor(
        dst=out, data=tile, op0=nl.multiply, operand0=total, op1=nl.multiply, operand1=scale[0:size]
    )
    nisa.dma_copy(dst=target, src=out)


# For whoever runs them ------------------------------------------------------------------------


def softmax_inputs(point):
    """The rows."""
    return (((int(point["rows"]), int(point["columns"])), FLOATS[str(point["dtype"])]),)


def rms_norm_inputs(point):
    """The rows and one vector of weights."""
    (x,) = softmax_inputs(point)
    return (x, ((1, x[0][1]), x[1]))


def layer_norm_inputs(point):
    """The rows and two vectors of weights."""
    x, weights = rms_norm_inputs(point)
    return (x, weights, weights)


softmax_reference = "trnbench_kernels.nki.references:softmax"
layer_norm_reference = "trnbench_kernels.nki.references:layer_norm"
rms_norm_reference = "trnbench_kernels.nki.references:rms_norm"
