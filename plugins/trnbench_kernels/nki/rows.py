"""Normalisations over rows, 128 rows at a time: softmax, layer norm, RMS norm."""

# mypy: ignore-errors

from __future__ import annotations

import nki.isa as nisa
import nki.language as nl

import nki
from trnbench_kernels.nki.shapes import FLOATS
from trnbench_kernels.nki.tiles import loaded

EPSILON = 1e-5


@nki.jit
def softmax(x):
    """exp(x - max) / sum, with the sum taken while the exponentials are computed.

    While one group of rows is scaled the next is exponentiated and the one after is on its way: no
    engine waits for another.
    """
    result = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
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
    top = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
    total = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
    grown = nl.ndarray(tile.shape, dtype=tile.dtype, buffer=nl.sbuf)
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
    return _normalised(x, _spread(gamma), _spread(beta))


@nki.jit
def rms_norm(x, gamma):
    """x / sqrt(mean of squares + ε) · gamma."""
    return _normalised(x, _spread(gamma), None)


def _normalised(x, scale, shift):
    """The layer norm of x, or without a `shift` its RMS norm."""
    result = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
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
    stats = nl.ndarray((size, 6 * parts), dtype=nl.float32, buffer=nl.sbuf)
    for part in nl.affine_range(parts):
        end = min((part + 1) * chunk, columns)
        nisa.bn_stats(dst=stats[:, 6 * part : 6 * part + 6], data=tile[:, part * chunk : end])
    moments = nl.ndarray((size, 2), dtype=nl.float32, buffer=nl.sbuf)
    nisa.bn_aggr(dst=moments, data=stats)
    spread = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(dst=spread, op=nl.rsqrt, data=moments[:, 1:2], bias=epsilon[0:size])
    out = nl.ndarray((size, columns), dtype=tile.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(
        dst=out, data=tile, op0=nl.subtract, operand0=moments[:, 0:1], op1=nl.multiply, operand1=spread
    )
    nisa.tensor_tensor(dst=out, data1=out, data2=scale[0:size], op=nl.multiply)
    nisa.tensor_tensor(dst=out, data1=out, data2=shift[0:size], op=nl.add)
    nisa.dma_copy(dst=target, src=out)


def _rms_norm(target, tile, scale, epsilon):
    size, columns = tile.shape
    squares = nl.ndarray((size, columns), dtype=tile.dtype, buffer=nl.sbuf)
    total = nl.ndarray((size, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation_reduce(dst=squares, op=nl.square, data=tile, reduce_op=nl.add, reduce_res=total)
    nisa.activation(dst=total, op=nl.rsqrt, data=total, scale=1.0 / columns, bias=epsilon[0:size])
    out = nl.ndarray((size, columns), dtype=tile.dtype, buffer=nl.sbuf)
    nisa.scalar_tensor_tensor(
        dst=out, data=tile, op0=nl.multiply, operand0=total, op1=nl.multiply, operand1=scale[0:size]
    )
    nisa.dma_copy(dst=target, src=out)


def _spread(weights):
    """One row of weights on every partition: read once, then copied on chip."""
    return nl.broadcast_to(loaded(weights[0:1]), (nl.tile_size.pmax, weights.shape[1]))


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
